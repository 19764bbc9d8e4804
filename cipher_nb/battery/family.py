"""A family: any number of samples of one kind, from a seed."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TypeVar

from cipher_nb.battery.samples import Sample, Scorer, Side, sample_id
from cipher_nb.errors import BatteryError
from cipher_nb.model import Message

T = TypeVar("T")

MAX_REPEATS = 2_000


@dataclass(frozen=True)
class Question:
    """What a family's generator yields: the user's text, the scorer's target and, for "choice", what to choose from.

    `reference` is a right answer, needed where the target is none itself (a pattern, a schema, tests for code).
    """

    text: str
    target: str
    choices: tuple[str, ...] = ()
    reference: str = ""


@dataclass(frozen=True)
class Family:
    """A generator of questions, and what all of them share.

    `questions` never ends, and its texts differ between the sides. `examples` are answered questions shown before each
    one: the smallest models need to see the form of an answer.
    """

    name: str
    system: str
    scorer: Scorer
    questions: Callable[[random.Random, Side], Iterator[Question]]
    examples: tuple[tuple[str, str], ...] = ()
    max_tokens: int = 16

    def samples(self, category: str, count: int, *, side: Side, seed: int) -> list[Sample]:
        """Return `count` distinct samples; a larger count with the same seed begins with the same ones.

        Raises BatteryError when the family has no more.
        """
        rng = random.Random(f"{seed}/{category}/{self.name}/{side}")  # noqa: S311 - repeatable draws, nothing secret
        found = list(islice(_distinct(self.questions(rng, side)), count))
        if len(found) < count:
            raise BatteryError(
                f"family {self.name!r} of {category!r} has about {len(found)} distinct {side} samples, not {count}; "
                "ask for fewer"
            )
        return [self._sample(category, side, question) for question in found]

    def _preface(self) -> Iterator[Message]:
        yield {"role": "system", "content": self.system}
        for text, answer in self.examples:
            yield {"role": "user", "content": text}
            yield {"role": "assistant", "content": answer}

    def _sample(self, category: str, side: Side, question: Question) -> Sample:
        messages = (*self._preface(), {"role": "user", "content": question.text})
        return Sample(
            id=sample_id(category, messages, target=question.target, choices=question.choices),
            category=category,
            family=self.name,
            side=side,
            messages=messages,
            target=question.target,
            scorer=self.scorer,
            choices=question.choices,
            max_tokens=self.max_tokens,
            reference=question.reference or question.target,
        )


def _distinct(questions: Iterator[Question]) -> Iterator[Question]:
    seen: set[str] = set()
    repeats = 0
    for question in questions:
        repeats = repeats + 1 if question.text in seen else 0
        if repeats > MAX_REPEATS:
            return
        if not repeats:
            seen.add(question.text)
            yield question


def rounds(items: Sequence[T], rng: random.Random) -> Iterator[T]:
    """Yield all items in a new random order, again and again, so that every stretch is balanced."""
    while True:
        yield from rng.sample(items, len(items))


def vocabulary(*, practice: str, sealed: str, separator: str | None = None) -> Mapping[Side, tuple[str, ...]]:
    """Return what each side draws from: its text, cut at white space or at `separator` (for phrases)."""
    texts: Mapping[Side, str] = {"practice": practice, "sealed": sealed}
    return {side: tuple(part.strip() for part in text.split(separator)) for side, text in texts.items()}
