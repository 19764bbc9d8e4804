"""The folder of one night: a result file for each finished stage, written last, and `night.json` at the end."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from cipher_nb.errors import CipherError, NotFoundError
from cipher_nb.files import read_json, write_json

STAGES = ("collect", "train", "export", "battery", "gate", "stage", "changelog")
RESUMABLE_FOR = timedelta(hours=24)


@dataclass(frozen=True)
class NightFolder:
    """One night's files. A stage is finished if and only if its result file is there and whole."""

    path: Path

    @property
    def run_id(self) -> str:
        return self.path.name

    @property
    def dataset(self) -> Path:
        return self.path / "dataset.jsonl"

    @property
    def training(self) -> Path:
        """Where a training is kept while it runs, to go on there."""
        return self.path / "training"

    @property
    def report(self) -> Path:
        return self.path / "report.html"

    @property
    def progress(self) -> Path:
        return self.path / "progress.json"

    def result(self, stage: str) -> dict[str, Any] | None:
        """Return what `stage` left, or None when it has not finished."""
        try:
            return dict(read_json(self.path / f"{stage}.json"))
        except (FileNotFoundError, CipherError):
            return None

    def require(self, stage: str) -> dict[str, Any]:
        """Return what `stage` left; NotFoundError says that it has to run first."""
        result = self.result(stage)
        if result is None:
            raise NotFoundError(f"night {self.run_id} has no {stage} result; run its notebook first ({self.path})")
        return result

    def finish(self, stage: str, result: Mapping[str, Any]) -> dict[str, Any]:
        """Mark `stage` finished with its result; everything the result names must be on disk before."""
        write_json(self.path / f"{stage}.json", dict(result))
        return dict(result)

    def unfinished(self) -> tuple[str, ...]:
        """Return the stages without a result, in order."""
        return tuple(stage for stage in STAGES if self.result(stage) is None)

    def ending(self) -> dict[str, Any] | None:
        """Return how the night ended, or None when it runs or died."""
        return self.result("night")

    def end(self, record: Mapping[str, Any]) -> None:
        self.finish("night", record)


class Progress:
    """Tells other processes how far a stage is, at most twice a second; best effort, never an error."""

    def __init__(self, folder: NightFolder, stage: str) -> None:
        self._folder = folder
        self._stage = stage
        self._next = 0.0

    def __call__(self, done: int, total: int, note: str = "") -> None:
        now = time.monotonic()
        if now < self._next and done < total:
            return
        self._next = now + 0.5
        scratch = self._folder.progress.with_suffix(".tmp")
        try:
            import orjson

            scratch.write_bytes(orjson.dumps({"stage": self._stage, "done": done, "total": total, "note": note}))
            scratch.replace(self._folder.progress)
        except OSError:
            return


def open_night(nights: Path, run_id: str) -> NightFolder:
    """Return the night `run_id`; NotFoundError names the ones there are."""
    folder = NightFolder(nights / run_id)
    if not run_id or not folder.path.is_dir():
        known = ", ".join(each.run_id for each in list_nights(nights)[:5]) or "none yet"
        raise NotFoundError(f"night {run_id!r} does not exist; newest: {known}")
    return folder


def list_nights(nights: Path) -> list[NightFolder]:
    """Return all nights, newest first."""
    if not nights.is_dir():
        return []
    return [NightFolder(path) for path in sorted(nights.iterdir(), reverse=True) if path.is_dir()]


def new_night(nights: Path, now: datetime) -> NightFolder:
    """Make the folder of a night that begins now; its name is the UTC time to the minute."""
    stem = now.strftime("%Y-%m-%d-%H%M")
    names = [stem, *(f"{stem}-{number}" for number in range(2, 1000))]
    for name in names:
        folder = nights / name
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            continue
        write_json(folder / "begun.json", {"run_id": name, "ts": now.timestamp()})
        return NightFolder(folder)
    raise NotFoundError(f"no free name for a night at {stem} in {nights}")


def begun_at(folder: NightFolder) -> float:
    """Return when the night began, in seconds since the epoch; 0 when its first file was torn."""
    begun = folder.result("begun") or {}
    return float(begun.get("ts", 0.0))


def take_up(folder: NightFolder, now: datetime) -> None:
    """Note that the night goes on now: only from here on does the operator's return stop it."""
    begun = folder.result("begun") or {"run_id": folder.run_id, "ts": now.timestamp()}
    write_json(folder.path / "begun.json", {**begun, "taken_up": now.timestamp()})


def went_on_at(folder: NightFolder) -> float:
    """Return when the night was last taken up, else when it began, in seconds since the epoch."""
    begun = folder.result("begun") or {}
    return float(begun.get("taken_up", begun.get("ts", 0.0)))


def resumable(nights: Path, now: datetime) -> NightFolder | None:
    """Return the newest night if it died or was stopped within the last 24 hours, else None."""
    newest = next(iter(list_nights(nights)), None)
    if newest is None or now.timestamp() - begun_at(newest) > RESUMABLE_FOR.total_seconds():
        return None
    ending = newest.ending()
    return newest if ending is None or ending["status"] == "stopped" else None
