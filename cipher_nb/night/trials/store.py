"""What trials came to, kept as JSONL: a row a trial, written when it is done."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import orjson

from cipher_nb.battery.results import Results
from cipher_nb.jsonl import append_line, read_lines
from cipher_nb.night.trials.plan import Trial

Scores = Mapping[str, Mapping[str, float]]
"""The score of each sample, category by category."""


@dataclass(frozen=True)
class Outcome:
    """A trial that was trained and measured; or, where it could not be, only why (`error`)."""

    key: str
    trial: Trial
    scores: Scores
    losses: tuple[float, ...] = ()
    pairs: int = 0
    training_s: float = 0.0
    measuring_s: float = 0.0
    error: str = ""

    @property
    def last_loss(self) -> float:
        """The mean loss over the last quarter of the steps: a single one tells of its pairs."""
        last = self.losses[-max(1, len(self.losses) // 4) :]
        return sum(last) / len(last)

    @property
    def seconds(self) -> float:
        return self.training_s + self.measuring_s

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> Outcome:
        return cls(**{**row, "trial": Trial(**row["trial"]), "losses": tuple(row["losses"])})


class TrialStore:
    """The outcomes of one workspace's trials; append-only, so that a killed run keeps what was done."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def add(self, outcome: Outcome) -> None:
        """Keep `outcome`; it is on disk when this returns."""
        append_line(self.path, orjson.dumps(asdict(outcome)), durable=True)

    def read(self) -> dict[str, Outcome]:
        """Return the outcomes by key, of two with the same key the later one; torn lines are left out."""
        rows = (row for row in read_lines(self.path) if "key" in row and "scores" in row)
        return {row["key"]: Outcome.from_json(row) for row in rows}


def scores_of(results: Results) -> dict[str, dict[str, float]]:
    """Return what was scored; a sample without a score is missing."""
    return {
        category: {row.sample: row.score for row in rows if row.score is not None}
        for category, rows in results.by_category().items()
    }
