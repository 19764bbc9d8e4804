"""The operator's changelog at the end of a night: the SOP's words, pending until it is answered."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import orjson

from cipher_nb.errors import DecisionError
from cipher_nb.files import read_json, write_json
from cipher_nb.records import parse_ts

STALE_AFTER = timedelta(hours=24)
BUTTONS = "[APPLY]  [REVIEW]  [SKIP]"


@dataclass(frozen=True)
class Changelog:
    """What a night put before the operator. `id` is the night's; deltas are candidate minus production.

    `status` is "pending", "applied", "skipped" or "rolled back"; `verdict` is the gate's word.
    """

    id: str
    created: str
    adapter: str
    verdict: str
    patterns: tuple[str, ...]
    pairs: int
    composite_delta: float
    worst_delta: float
    report: str = ""
    status: str = "pending"

    @property
    def hash(self) -> str:
        """Eight hex digits over everything the operator reads; a decision names them."""
        content = {key: value for key, value in asdict(self).items() if key != "status"}
        return hashlib.sha256(orjson.dumps(content, option=orjson.OPT_SORT_KEYS)).hexdigest()[:8]

    @property
    def ref(self) -> str:
        return f"{self.id}@{self.hash}"

    def text(self) -> str:
        """Return the SOP's summary, exactly in its form."""
        patterns = _count(len(self.patterns), "new approval pattern")
        worst = f"all categories >= {self.worst_delta:+.2f}"
        return (
            "Overnight I learned:\n"
            f"- {patterns} (now seen >=3 times)\n"
            f"- {_count(self.pairs, 'trajectory pair')} added to my training data\n"
            f"- Battery delta: {self.composite_delta:+.2f} composite, {worst}\n"
            "\n"
            f"{BUTTONS}"
        )

    def age(self, now: datetime) -> timedelta:
        created = parse_ts(self.created)
        return now - created if created else timedelta(0)

    def stale(self, now: datetime) -> bool:
        """Tell whether the operator has left it unanswered for more than 24 hours."""
        return self.status == "pending" and self.age(now) > STALE_AFTER

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "hash": self.hash, "ref": self.ref, "text": self.text()}

    def to_json_at(self, now: datetime) -> dict[str, Any]:
        """Return it with how long it has waited, as the command line and the endpoint tell it."""
        age_hours = round(self.age(now).total_seconds() / 3600, 2)
        return {**self.to_json(), "age_hours": age_hours, "stale": self.stale(now)}


def publish(path: Path, changelog: Changelog) -> None:
    """Make `changelog` the one that waits for an answer."""
    write_json(path, asdict(changelog))


def latest(path: Path) -> Changelog | None:
    """Return the newest changelog, answered or not, or None when no night has published one."""
    try:
        row = read_json(path)
    except FileNotFoundError:
        return None
    return Changelog(**{**row, "patterns": tuple(row["patterns"])})


def find(path: Path, ref: str) -> Changelog:
    """Return the changelog that `ref` (ID@HASH) names; DecisionError says what is there instead."""
    changelog = latest(path)
    if changelog is None:
        raise DecisionError(f"no changelog is pending, so {ref!r} names nothing; run: cipher-nb night")
    if ref != changelog.ref:
        raise DecisionError(
            f"changelog {ref!r} is not the one on record; it is {changelog.ref} ({changelog.status}): "
            "read it with: cipher-nb changelog"
        )
    return changelog


def answer(path: Path, changelog: Changelog, status: str) -> Changelog:
    """Record what the operator made of `changelog`."""
    answered = replace(changelog, status=status)
    publish(path, answered)
    return answered


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"
