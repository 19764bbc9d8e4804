"""What a model scored: a row a sample, under a header that says who was asked and how."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import orjson

from cipher_nb.errors import BatteryError
from cipher_nb.files import write_atomic
from cipher_nb.jsonl import append_line, read_lines


@dataclass(frozen=True)
class Header:
    """Who was asked and how. Results with the same fingerprint are answers to the same questions by the same model."""

    fingerprint: str
    base: str
    adapter: str
    battery_version: str
    engine: str
    settings: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(
        cls, *, base: str, adapter: str, battery_version: str, engine: str, settings: Mapping[str, Any] | None = None
    ) -> Header:
        """Return the header with its fingerprint."""
        told = dict(settings or {})
        fingerprint = fingerprint_of(
            base=base, adapter=adapter, battery_version=battery_version, engine=engine, settings=told
        )
        return cls(fingerprint, base, adapter, battery_version, engine, told)

    def to_json(self) -> dict[str, Any]:
        return {
            "fingerprint": self.fingerprint,
            "base": self.base,
            "adapter": self.adapter,
            "battery_version": self.battery_version,
            "engine": self.engine,
            "settings": dict(self.settings),
        }


@dataclass(frozen=True)
class Row:
    """The score of one sample: 0 to 1, or None where no answer could be had (then `error` says why)."""

    sample: str
    category: str
    family: str
    score: float | None
    answer: str
    error: str = ""

    def to_json(self) -> dict[str, Any]:
        row = {
            "sample": self.sample,
            "category": self.category,
            "family": self.family,
            "score": self.score,
            "answer": self.answer,
        }
        return row | ({"error": self.error} if self.error else {})

    @property
    def exact_score(self) -> Fraction:
        """The score as the decimal it is written as, so that -0.05 is -0.05."""
        return Fraction(str(self.score))


@dataclass(frozen=True)
class Results:
    """All rows of one run, in the order of its samples. `header` is None for a file that somebody else wrote."""

    header: Header | None
    rows: tuple[Row, ...]

    @property
    def unscored(self) -> tuple[Row, ...]:
        return tuple(row for row in self.rows if row.score is None)

    def only(self, samples: Collection[str]) -> Results:
        """Return the results of `samples` alone, in their order here."""
        return Results(self.header, tuple(row for row in self.rows if row.sample in samples))

    def without(self, samples: Collection[str]) -> Results:
        return Results(self.header, tuple(row for row in self.rows if row.sample not in samples))

    def by_category(self) -> dict[str, list[Row]]:
        """Return the scored rows of each category; a category without any is left out."""
        rows: dict[str, list[Row]] = {}
        for row in self.rows:
            if row.score is not None:
                rows.setdefault(row.category, []).append(row)
        return rows

    def exact_category_scores(self) -> dict[str, Fraction]:
        """Return each category's mean over its scored samples, without rounding."""
        return {
            category: sum((row.exact_score for row in rows), Fraction()) / len(rows)
            for category, rows in self.by_category().items()
        }

    def exact_composite(self) -> Fraction:
        """Return the plain mean over categories; raises BatteryError when nothing is scored."""
        scores = self.exact_category_scores()
        if not scores:
            raise BatteryError("results hold no scored sample; run the battery first")
        return sum(scores.values(), Fraction()) / len(scores)

    def category_scores(self) -> dict[str, float]:
        """Return each category's mean over its scored samples."""
        return {category: float(score) for category, score in self.exact_category_scores().items()}

    def family_scores(self) -> dict[str, float]:
        """Return the mean of each category's families, as `category/family`."""
        scores: dict[str, list[float]] = {}
        for row in self.rows:
            if row.score is not None:
                scores.setdefault(f"{row.category}/{row.family}", []).append(row.score)
        return {name: sum(found) / len(found) for name, found in scores.items()}

    def composite(self) -> float:
        """Return the plain mean over categories; raises BatteryError when nothing is scored."""
        return float(self.exact_composite())


def shared(left: Results, right: Results) -> tuple[Results, Results]:
    """Return both results without the samples that only one of them was asked, in the order of the first."""
    there = {row.sample: row for row in right.rows}
    here = tuple(row for row in left.rows if row.sample in there)
    return Results(left.header, here), Results(right.header, tuple(there[row.sample] for row in here))


def fingerprint_of(
    *, base: str, adapter: str, battery_version: str, engine: str, settings: Mapping[str, Any] | None = None
) -> str:
    """Return 32 hex digits that stand for model, adapter, battery, engine build and settings together."""
    parts = [base, adapter, battery_version, engine, dict(settings or {})]
    return hashlib.sha256(orjson.dumps(parts, option=orjson.OPT_SORT_KEYS)).hexdigest()[:32]


def write_results(path: Path, results: Results) -> None:
    """Write header and rows as JSONL, atomically."""
    lines = [results.header.to_json()] if results.header else []
    lines += [row.to_json() for row in results.rows]
    write_atomic(path, b"".join(orjson.dumps(line) + b"\n" for line in lines))


def append_header(path: Path, header: Header) -> None:
    append_line(path, orjson.dumps(header.to_json()))


def append_row(path: Path, row: Row) -> None:
    append_line(path, orjson.dumps(row.to_json()))


def read_results(path: Path) -> Results:
    """Return what `path` holds: foreign and torn lines are left out, of two rows for one sample the later one counts.

    Raises BatteryError for a file that is missing or in which nothing is a header or a row.
    """
    try:
        lines = read_lines(path)
    except OSError as error:
        raise BatteryError(f"results {path} cannot be read: {error.strerror}") from error
    header = next((found for found in map(_header, lines) if found), None)
    rows = tuple(latest(row for row in map(_row, lines) if row))
    if header is None and not rows:
        raise BatteryError(f"results {path} are missing or hold no row; run the battery first")
    return Results(header, rows)


def latest(rows: Iterable[Row]) -> list[Row]:
    """Return one row a sample, the last one, in the order in which the samples first appeared."""
    return list({row.sample: row for row in rows}.values())


def _header(line: Mapping[str, Any]) -> Header | None:
    names = ("fingerprint", "base", "adapter", "battery_version", "engine")
    settings = line.get("settings", {})
    if not all(isinstance(line.get(name), str) for name in names) or not isinstance(settings, dict):
        return None
    return Header(**{name: line[name] for name in names}, settings=settings)


def _row(line: Mapping[str, Any]) -> Row | None:
    score = line.get("score")
    if not isinstance(line.get("sample"), str) or not isinstance(line.get("category"), str) or "score" not in line:
        return None
    if isinstance(score, bool) or not isinstance(score, int | float | None) or not 0 <= (score or 0) <= 1:
        return None
    return Row(
        sample=line["sample"],
        category=line["category"],
        family=str(line.get("family", "")),
        score=score,
        answer=str(line.get("answer", "")),
        error=str(line.get("error", "")),
    )
