"""Nights as they would come out if the truth were known: answers drawn by chance, judged by the gate's own code."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from cipher_nb.battery.evidence.composite import composite_delta
from cipher_nb.battery.evidence.course import Course, follow
from cipher_nb.battery.evidence.looks import Plan, plan, single
from cipher_nb.battery.evidence.paired import Tally
from cipher_nb.battery.rule import EXACT_MAX_DROP

if TYPE_CHECKING:
    from numpy.random import Generator
    from numpy.typing import NDArray


@dataclass
class Drawn:
    """A simulated category of `size` samples: gains and losses among its first ones, known at every look."""

    tallies: Mapping[int, Tally]
    size: int
    answered: int = 0

    def first(self, n: int) -> Tally:
        return self.tallies[min(n, self.size)]


@dataclass(frozen=True)
class Outcome:
    """What one simulated night came to: looked at once, with early stopping, and by the bare rule.

    `asked` is the share of the full battery that early stopping asked.
    """

    once: str
    early: str
    rule: bool
    asked: float


def nights(deltas: Sequence[float], *, changed: float, n: int, trials: int, seed: int) -> Iterator[Outcome]:
    """Yield the outcome of `trials` nights whose categories truly differ by `deltas`.

    `changed` is the share of samples whose score changes, at least as large as each delta.
    """
    import numpy as np

    rng = np.random.default_rng(seed)
    looks = plan(n)
    for _ in range(trials):
        yield _outcome(_draw(rng, deltas, changed=changed, plan=looks), looks)


def verdict_of(course: Course, names: Sequence[str]) -> str:
    if course.worse:
        return "REGRESSION"
    return "PROVEN" if course.lifted and course.held.issuperset(names) else "INCONCLUSIVE"


def passes_rule(tallies: Sequence[Tally]) -> bool:
    """Tell what the SOP's bare rule says."""
    return min(tally.delta for tally in tallies) >= -EXACT_MAX_DROP and composite_delta(tallies) >= 0


def _draw(rng: Generator, deltas: Sequence[float], *, changed: float, plan: Plan) -> dict[str, Drawn]:
    steps = [after - before for before, after in pairwise([0, *[look.n for look in plan]])]
    return {f"c{place}": _category(_counts(rng, steps, delta, changed), plan) for place, delta in enumerate(deltas)}


def _counts(rng: Generator, steps: Sequence[int], delta: float, changed: float) -> NDArray[Any]:
    import numpy as np

    changed = max(changed, abs(delta))
    chances = [(changed + delta) / 2, (changed - delta) / 2, 1 - changed]
    return np.asarray(np.cumsum([rng.multinomial(step, chances) for step in steps], axis=0))


def _category(counts: NDArray[Any], plan: Plan) -> Drawn:
    rows = zip(plan, counts.tolist(), strict=True)
    tallies = {look.n: Tally.counted(n=look.n, gains=gains, losses=losses) for look, (gains, losses, _) in rows}
    return Drawn(tallies, plan[-1].n)


def _outcome(drawn: dict[str, Drawn], looks: Plan) -> Outcome:
    early = _stopped_early(drawn, looks)
    asked = sum(each.answered for each in drawn.values()) / sum(each.size for each in drawn.values())
    for each in drawn.values():
        each.answered = each.size
    full = looks[-1].n
    return Outcome(
        once=verdict_of(follow(drawn, single(full)), list(drawn)),
        early=verdict_of(early, list(drawn)),
        rule=passes_rule([each.first(full) for each in drawn.values()]),
        asked=asked,
    )


def _stopped_early(drawn: Mapping[str, Drawn], looks: Plan) -> Course:
    course = follow(drawn, looks)
    while course.ask:
        for name, n in course.ask.items():
            drawn[name].answered = n
        course = follow(drawn, looks, since=course)
    return course
