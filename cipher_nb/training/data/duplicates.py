"""Exact and near duplicates among pairs, found without comparing each pair with every other."""

from __future__ import annotations

import math
import re
from array import array
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from cipher_nb.training.data.pairs import Pair

SHINGLE_WORDS = 3
NEAR_PERCENT = 90

Words = tuple[str, ...]

_WORD = re.compile(r"\w+")


@lru_cache(maxsize=8)  # the checks of one pair ask for the same texts
def words(text: str) -> Words:
    """Return the words of `text` in lower case, without punctuation: what all comparisons here are made on."""
    return tuple(_WORD.findall(text.lower()))


def runs(text: Words, length: int) -> Iterator[Words]:
    """Yield every `length` words in a row."""
    return zip(*(text[start:] for start in range(length)), strict=False)


class Duplicates:
    """Pairs that were let through, to tell what repeats one of them.

    Two sets of n and m shingles of which 0.9 are common also share one among the rarest tenth of each, whatever order
    "rarest" means as long as it is one order. So only pairs with a common rare shingle are compared, and none is
    missed. `likely` tells how rare shingles are; what is not among them counts as rare.
    """

    def __init__(self, likely: Sequence[Pair] = ()) -> None:
        answers = Counter(map(_answer, likely))
        self._numbers: dict[Words, int] = {}
        self._counts = Counter(
            number for pair in likely if answers[_answer(pair)] > 1 for number in self._shingles(words(pair.question))
        )
        self._same_answer: dict[Words, _SameAnswer] = {}

    def __call__(self, pair: Pair) -> str | None:
        """Return what `pair` is a duplicate of; where it is none it is one of those let through from now on."""
        same, question = self._same_answer.setdefault(_answer(pair), _SameAnswer()), words(pair.question)
        if question in same.ids:
            return f"duplicate of {same.ids[question]}"
        if same.ids:
            if not same.kept:  # only now is there another one to compare the first with
                first, name = next(iter(same.ids.items()))
                self._let_through(same, self._shingles(first), name)
            shingles = self._shingles(question)
            near = self._near(same, shingles)
            if near:
                return f"near duplicate of {near}"
            self._let_through(same, shingles, pair.id)
        same.ids[question] = pair.id
        return None

    def _near(self, same: _SameAnswer, shingles: set[int]) -> str:
        places = {place for number in self._rarest(shingles) for place in same.with_rare.get(number, ())}
        near = (same.kept[place][0] for place in sorted(places) if _is_near(shingles, same.kept[place][1]))
        return next(near, "")

    def _let_through(self, same: _SameAnswer, shingles: set[int], name: str) -> None:
        for number in self._rarest(shingles):
            same.with_rare.setdefault(number, []).append(len(same.kept))
        same.kept.append((name, array("L", shingles)))

    def _shingles(self, question: Words) -> set[int]:
        return {self._numbers.setdefault(run, len(self._numbers)) for run in runs(question, SHINGLE_WORDS)}

    def _rarest(self, shingles: Collection[int]) -> list[int]:
        """Return so many of the rarest that a set near to this one cannot be without all of them."""
        count = len(shingles) - math.ceil(len(shingles) * NEAR_PERCENT / 100) + 1
        return sorted(shingles, key=lambda number: (self._counts[number], number))[:count] if shingles else []


@dataclass
class _SameAnswer:
    """What was let through with one answer: ids by question and, once there are two, what near ones are found by."""

    ids: dict[Words, str] = field(default_factory=dict)
    kept: list[tuple[str, array[int]]] = field(default_factory=list)
    with_rare: dict[int, list[int]] = field(default_factory=dict)


def _answer(pair: Pair) -> Words:
    return words(pair.response) or (pair.response,)


def _is_near(left: set[int], right: Collection[int]) -> bool:
    """Return whether at least 0.9 of all shingles are common; in whole numbers, since 0.9 is none that floats hold."""
    smaller, larger = sorted((len(left), len(right)))
    if smaller * 100 < larger * NEAR_PERCENT:
        return False
    common = len(left.intersection(right))
    return common * 100 >= (len(left) + len(right) - common) * NEAR_PERCENT
