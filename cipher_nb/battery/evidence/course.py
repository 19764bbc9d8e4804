"""The course of a comparison: look after look, what is decided, and what to ask before the next look."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Protocol

from cipher_nb.battery.evidence.composite import composite_delta, could_still_be_lifted, p_not_better, p_not_worse
from cipher_nb.battery.evidence.looks import Look, Plan
from cipher_nb.battery.evidence.paired import Tally, holm, is_above, p_worse
from cipher_nb.battery.rule import EXACT_MAX_DROP, MAX_DROP

COMPOSITE = "composite"


class Asked(Protocol):
    """The answers to one category so far, and how many samples it has in all."""

    @property
    def answered(self) -> int: ...

    @property
    def size(self) -> int: ...

    def first(self, n: int) -> Tally:
        """Return the tally of the first `n` samples."""
        ...


@dataclass(frozen=True)
class Answers:
    """The differences of one category in the order of its samples; `size` is how many it has in all."""

    differences: Sequence[Fraction]
    size: int

    @property
    def answered(self) -> int:
        return len(self.differences)

    def first(self, n: int) -> Tally:
        return Tally.of(self.differences[:n])


@dataclass(frozen=True)
class Taken:
    """A look that was taken: at which categories, and what it found."""

    look: Look
    categories: tuple[str, ...]
    open: tuple[str, ...]


@dataclass(frozen=True)
class Course:
    """What the looks decided: `held` categories rule out a drop of 0.05, `worse` ones fell by that or more.

    The composite counts as one more name among the `worse`. `lifted`: its gain is no chance. `ask` is how many samples
    the next look needs of each category that it is about; empty when all is decided or all is asked.
    """

    taken: tuple[Taken, ...] = ()
    held: frozenset[str] = frozenset()
    worse: frozenset[str] = frozenset()
    lifted: bool = False
    ask: Mapping[str, int] = field(default_factory=dict)


def follow(asked: Mapping[str, Asked], plan: Plan, *, since: Course | None = None) -> Course:
    """Take the looks that the answers allow: from the first one on, or those after `since`.

    A look errs at most at its level: a drop of 0.05 is ruled out wrongly in a category, equal models are called worse
    anywhere (Holm over all categories and the composite), an equal composite is called better. A category takes part in
    a look if its first `n` samples are answered, the composite if all categories do.
    """
    course = since or Course(ask=_wanted(asked, asked, plan[0]))
    done = len(course.taken)
    for look, following in zip(plan[done:], [*plan[done + 1 :], None], strict=True):
        tallies = {name: each.first(look.n) for name, each in asked.items() if _reaches(each, look)}
        if not tallies or course.worse:
            break
        course = _after(course, look, tallies, asked)
        course = replace(course, ask=_next(course, tallies, asked, plan[-1], following))
    return course


def _after(course: Course, look: Look, tallies: Mapping[str, Tally], asked: Mapping[str, Asked]) -> Course:
    found = list(tallies.values())
    whole = len(tallies) == len(asked)
    held = course.held | {name for name, tally in tallies.items() if is_above(tally, -MAX_DROP, level=look.level)}
    worse = _worse(tallies, asked, look, whole=whole)
    open_ = tuple(name for name in asked if name not in held | worse)
    return Course(
        taken=(*course.taken, Taken(look, tuple(tallies), open_)),
        held=held,
        worse=worse,
        lifted=course.lifted or (whole and p_not_better(found) <= look.level),
    )


def _worse(tallies: Mapping[str, Tally], asked: Mapping[str, Asked], look: Look, *, whole: bool) -> frozenset[str]:
    found = list(tallies.values())
    fallen = {name for name, tally in tallies.items() if tally.delta <= -EXACT_MAX_DROP}
    p_values = dict.fromkeys([*asked, COMPOSITE], 1.0) | {name: p_worse(tallies[name]) for name in fallen}
    if whole and composite_delta(found) <= -EXACT_MAX_DROP:
        p_values[COMPOSITE] = p_not_worse(found)
    return frozenset(name for name, p in holm(p_values).items() if p <= look.level)


def _next(
    course: Course, tallies: Mapping[str, Tally], asked: Mapping[str, Asked], last: Look, following: Look | None
) -> dict[str, int]:
    if course.worse or following is None:
        return {}
    hopeful = len(tallies) == len(asked) and could_still_be_lifted(list(tallies.values()), last)
    names = asked if hopeful and not course.lifted else course.taken[-1].open
    return _wanted(asked, names, following)


def _wanted(asked: Mapping[str, Asked], names: Iterable[str], look: Look) -> dict[str, int]:
    return {name: min(look.n, asked[name].size) for name in names}


def _reaches(each: Asked, look: Look) -> bool:
    return each.answered >= min(look.n, each.size) > 0
