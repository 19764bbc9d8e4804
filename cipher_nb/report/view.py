"""A night as its folder tells it, whatever is missing there."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cipher_nb.battery.results import Results, read_results
from cipher_nb.errors import CipherError
from cipher_nb.files import inside, read_json
from cipher_nb.report.plain import plain

STAGES = ("collect", "train", "export", "battery", "gate", "stage", "changelog")

Part = Mapping[str, Any]


@dataclass(frozen=True)
class Answer:
    """What production and candidate answered to one sample, and what each was given for it."""

    sample: str
    category: str
    production: float
    candidate: float
    production_answer: str
    candidate_answer: str
    family: str = ""

    @property
    def delta(self) -> float:
        return self.candidate - self.production


@dataclass(frozen=True)
class NightView:
    """The parts a night left, each None where its file is missing or broken; `broken` says which were and why.

    `answers` are the samples that both sides were scored on, `asked` the battery's settings for them, `baseline` what
    the candidate was compared with.
    """

    folder: Path
    night: Part | None = None
    collect: Part | None = None
    train: Part | None = None
    export: Part | None = None
    battery: Part | None = None
    gate: Part | None = None
    stage: Part | None = None
    changelog: Part | None = None
    answers: tuple[Answer, ...] = ()
    asked: Part = field(default_factory=dict)
    baseline: str = "production"
    broken: tuple[str, ...] = ()

    @classmethod
    def load(cls, folder: Path, *, with_answers: bool = True) -> NightView:
        """Return what lies in `folder`; never fails on what a night may leave behind.

        Nearly all of the time goes into the answers; the trend does without them.
        """
        parts: dict[str, Any] = {}
        broken: list[str] = []
        for name in ("night", *STAGES):
            try:
                part = read_json(folder / f"{name}.json")
            except FileNotFoundError:
                continue
            except (CipherError, OSError) as error:
                broken.append(plain(str(error).replace(f"{folder}/", ""), 300))
                continue
            if isinstance(part, dict):
                parts[name] = part
            else:
                broken.append(f"{name}.json is not a JSON object")
        answers, asked = _answers(folder, parts.get("battery", {})) if with_answers else ((), {})
        return cls(folder=folder, **parts, answers=answers, asked=asked, broken=tuple(broken))

    @property
    def run_id(self) -> str:
        return self.folder.name

    @property
    def status(self) -> str:
        """staged, archived, nothing, stopped or failed; "died" when the night left no word of its own."""
        return text(self.night, "status") or "died"

    @property
    def verdict(self) -> str:
        return text(self.gate, "verdict")

    @property
    def adapter(self) -> str:
        return text(self.stage, "adapter") or text(self.export, "adapter")

    @property
    def finished(self) -> tuple[str, ...]:
        """The stages that left a result, in order."""
        return tuple(stage for stage in STAGES if getattr(self, stage) is not None)

    @property
    def unfinished(self) -> tuple[str, ...]:
        return tuple(stage for stage in STAGES if getattr(self, stage) is None)


def text(part: Part | None, key: str) -> str:
    """Return the text under `key`, or "" where there is none."""
    value = (part or {}).get(key)
    return value if isinstance(value, str) else ""


def number(part: Part | None, key: str) -> float | None:
    """Return the finite number under `key`, or None where there is none."""
    return finite((part or {}).get(key))


def finite(value: object) -> float | None:
    """Return `value` if it is a finite number, else None."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if math.isfinite(value) else None


def section(part: Part | None, key: str) -> Part:
    """Return the object under `key`, or an empty one."""
    value = (part or {}).get(key)
    return value if isinstance(value, dict) else {}


def listed(part: Part | None, key: str) -> Sequence[Any]:
    """Return the list under `key`, or an empty one."""
    value = (part or {}).get(key)
    return value if isinstance(value, list) else []


def results_file(battery: Part | None, side: str) -> str:
    """Return the name of the file with the answers of `side`, "production" or "candidate", or ""."""
    return text(section(battery, "results"), side) or text(battery, f"{side}_results")


def _answers(folder: Path, battery: Part) -> tuple[tuple[Answer, ...], Part]:
    production, candidate = (_results(folder, results_file(battery, side)) for side in ("production", "candidate"))
    return paired(production, candidate), section(battery, "asked") or settings_of(candidate)


def paired(production: Results, candidate: Results) -> tuple[Answer, ...]:
    """Return the answers to the samples that both sides were scored on, in the candidate's order."""
    before = {row.sample: row for row in production.rows}
    pairs = ((before[row.sample], row) for row in candidate.rows if row.sample in before)
    return tuple(
        Answer(
            sample=theirs.sample,
            category=theirs.category,
            production=ours.score,
            candidate=theirs.score,
            production_answer=ours.answer,
            candidate_answer=theirs.answer,
            family=theirs.family,
        )
        for ours, theirs in pairs
        if ours.score is not None and theirs.score is not None
    )


def settings_of(results: Results) -> Part:
    """Return the battery's settings that these answers were asked under, where their header tells them."""
    return section(results.header.settings, "battery") if results.header else {}


def _results(folder: Path, name: str) -> Results:
    try:
        return read_results(inside(folder, name))
    except CipherError:
        return Results(None, ())
