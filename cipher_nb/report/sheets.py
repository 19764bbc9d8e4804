"""Sample sheets: what each family asks, for the eye."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from textwrap import indent
from typing import Any

from cipher_nb.battery.families import FAMILIES
from cipher_nb.battery.samples import Sample, Side
from cipher_nb.config import BatterySettings
from cipher_nb.errors import NotFoundError, suggestion
from cipher_nb.report.plain import plain

TEXT_CHARS = 2_000


@dataclass(frozen=True)
class Sheet:
    """A few samples of one family."""

    category: str
    family: str
    samples: Sequence[Sample]

    @property
    def system(self) -> str:
        return next((each["content"] for each in self.samples[0].messages if each["role"] == "system"), "")

    def to_json(self) -> dict[str, Any]:
        first = self.samples[0]
        return {
            "category": self.category,
            "family": self.family,
            "scorer": first.scorer,
            "system": self.system,
            "examples": [dict(message) for message in first.messages[1:-1]],
            "samples": [
                {
                    "id": each.id,
                    "question": each.user_text,
                    "target": each.target,
                    "reference": each.reference,
                    "choices": list(each.choices),
                }
                for each in self.samples
            ],
        }

    def text(self) -> str:
        """Return the sheet for a terminal."""
        first = self.samples[0]
        count = len(first.messages[1:-1]) // 2
        examples = f", {count} example{'s' if count > 1 else ''} before each question" if count else ""
        head = [f"{self.category} / {self.family} ({first.scorer}{examples})", _told("system", self.system)]
        return "\n".join([*head, *(line for sample in self.samples for line in ("", *_lines(sample)))])


def sheets(category: str = "", *, per_family: int = 3, side: Side = "sealed") -> list[Sheet]:
    """Return a sheet for each family of `category`, or of all; the seed is the gate's default one.

    Raises NotFoundError for a category that there is not.
    """
    if category and category not in FAMILIES:
        raise NotFoundError(f"category {category!r} does not exist; {suggestion(category, FAMILIES)}")
    seed = BatterySettings().seed
    return [
        Sheet(name, family.name, family.samples(name, per_family, side=side, seed=seed))
        for name, families in FAMILIES.items()
        if name == (category or name)
        for family in families
    ]


def _lines(sample: Sample) -> Iterator[str]:
    yield _told("question", sample.user_text)
    if sample.choices:
        yield _told("choices", " | ".join(sample.choices))
    yield _told("right", sample.reference or sample.target)
    if sample.target != (sample.reference or sample.target):
        yield _told("scored by", sample.target)


def _told(name: str, content: str) -> str:
    return indent(plain(content, TEXT_CHARS), " " * 12).replace(" " * 12, f"  {name:<10}", 1)
