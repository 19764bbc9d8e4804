"""Erasure: what the operator wants gone leaves every file that holds it, and what was made from it is named."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import orjson

from cipher_nb.adapters.registry import Registry
from cipher_nb.battery.pins import FILE as PINNED
from cipher_nb.bus import Bus, Purged, Unwanted
from cipher_nb.files import read_json
from cipher_nb.jsonl import append_line, parse_object, rewrite
from cipher_nb.learned import LearnedView
from cipher_nb.paths import Paths
from cipher_nb.records import Clock, format_ts, made_at, utc_now
from cipher_nb.transcripts import Transcripts

WAYS_OUT = {
    "production": "; serve the one before with: cipher-nb rollback",
    "staged": "; set it aside with: cipher-nb skip",
}


@dataclass(frozen=True)
class Erased:
    """What went: numbers of events and turns, ids of pairs and tasks; and what had been made from it.

    `learned` are lines that stood in the next prompt and do not any more, `datasets` the nights whose dataset lost
    pairs. `adapters` were trained on it and still are: they are not touched, since what they learned cannot be taken
    out of them; each with its role (production, previous, staged or archived).
    """

    events: int
    turns: int
    pairs: tuple[str, ...]
    tasks: tuple[str, ...]
    learned: tuple[str, ...]
    datasets: tuple[str, ...]
    adapters: tuple[tuple[str, str], ...]

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "adapters": [{"adapter": name, "role": role} for name, role in self.adapters]}

    def in_words(self) -> Iterator[str]:
        """Yield what happened, a sentence each, with the way out for what still holds it."""
        counts = (self.events, "events"), (self.turns, "turns"), (len(self.pairs), "pairs")
        listed = ", ".join(f"{count} {what}" for count, what in counts)
        yield f"removed {listed}, {len(self.tasks)} task records"
        for pattern in self.learned:
            yield f"no longer told to the model: {pattern}"
        for night in self.datasets:
            yield f"taken out of the dataset of night {night}; its report may still quote it: cipher-nb report {night}"
        for adapter, role in self.adapters:
            yield f"still in adapter {adapter} ({role}), which was trained on it{WAYS_OUT.get(role, '')}"


def erase(
    unwanted: Unwanted,
    *,
    paths: Paths,
    bus: Bus,
    transcripts: Transcripts,
    registry: Registry,
    pins: Sequence[str] = (),
    clock: Clock = utc_now,
) -> Erased:
    """Remove it from bus, transcripts, pairs, datasets, pinned samples, task records and sandboxes; return what went.

    Every file is rewritten atomically beside its writers; killed half-way, the same call finishes it. The audit log
    keeps that something was erased and how much, never what.
    """
    view = LearnedView(bus, pins=pins)
    before = [line.pattern for line in view.lines(limit=15)]
    purged = bus.purge(ids=unwanted.ids, tasks=unwanted.tasks, before=unwanted.before, everything=unwanted.everything)
    after = {line.pattern for line in view.lines(limit=15)}
    pairs: dict[str, None] = {}
    is_pair = _pair_matcher(unwanted, purged, pairs)
    rewrite(paths.pairs, lambda line: not is_pair(line))
    rewrite(paths.battery / PINNED, lambda line: not _is_pin(line, unwanted, purged))
    erased = Erased(
        events=purged.count,
        turns=transcripts.purge(tasks=unwanted.tasks, before=unwanted.before, everything=unwanted.everything),
        datasets=_datasets(paths.nights, is_pair),
        pairs=tuple(pairs),
        tasks=_tasks(paths, unwanted),
        learned=tuple(pattern for pattern in before if pattern not in after),
        adapters=_adapters(registry, unwanted, purged),
    )
    row = {"ts": format_ts(clock()), "action": "purge", "events": erased.events, "turns": erased.turns}
    append_line(paths.audit, orjson.dumps(row | {"pairs": len(erased.pairs)}), durable=True)
    return erased


def _pair_matcher(unwanted: Unwanted, purged: Purged, found: dict[str, None]) -> Callable[[bytes], bool]:
    """Return what tells the lines of pairs that came from what is purged, and notes their ids in `found`."""

    def matches(line: bytes) -> bool:
        row = parse_object(line)
        if row is None or "response" not in row or row.get("source") != "approved":
            return False
        gone = unwanted.everything or row.get("task") in unwanted.tasks
        gone = gone or not purged.ids.isdisjoint(row.get("event_ids", ()))
        if gone:
            found[str(row.get("id"))] = None
        return gone

    return matches


def _is_pin(line: bytes, unwanted: Unwanted, purged: Purged) -> bool:
    """Tell whether the line is a must-pass sample made from a task that goes, not one the operator wrote."""
    told = (parse_object(line) or {}).get("metadata")
    if not isinstance(told, dict) or not isinstance(told.get("task"), str):
        return False
    return _is_task(told["task"], unwanted) or not purged.ids.isdisjoint(told.get("event_ids", ()))


def _datasets(nights: Path, is_pair: Callable[[bytes], bool]) -> tuple[str, ...]:
    found = sorted(nights.glob("*/dataset.jsonl"))
    return tuple(dataset.parent.name for dataset in found if rewrite(dataset, lambda line: not is_pair(line)))


def _tasks(paths: Paths, unwanted: Unwanted) -> tuple[str, ...]:
    known = {path.stem for path in paths.tasks.glob("[!.]*.json")}
    gone = sorted(task for task in known if _is_task(task, unwanted))
    for task in gone:
        (paths.tasks / f"{task}.json").unlink(missing_ok=True)
        for folder in (paths.sandboxes, paths.journal, paths.undo):
            shutil.rmtree(folder / task, ignore_errors=True)
        (paths.sandboxes / f".{task}.json").unlink(missing_ok=True)  # the names of the files that were in the copy
    return tuple(gone)


def _is_task(task: str, unwanted: Unwanted) -> bool:
    if unwanted.everything or task in unwanted.tasks:
        return True
    made = made_at(task)
    return unwanted.before is not None and made is not None and made < unwanted.before


def _adapters(registry: Registry, unwanted: Unwanted, purged: Purged) -> tuple[tuple[str, str], ...]:
    state = registry.state()
    roles = {state.staged: "staged", state.previous: "previous", state.production: "production"}
    found = []
    for manifest in sorted(registry.folder.glob("*/manifest.json")):
        pairs = [pair for pair in read_json(manifest).get("pairs", ()) if pair["source"] == "approved"]
        if any(
            unwanted.everything or pair["task"] in unwanted.tasks or not purged.ids.isdisjoint(pair["event_ids"])
            for pair in pairs
        ):
            name = manifest.parent.name
            found.append((name, roles.get(name, "archived")))
    return tuple(found)
