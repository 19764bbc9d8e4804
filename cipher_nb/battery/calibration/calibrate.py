"""Calibration: how often the gate is wrong, and how much it sees, where the truth is known."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from cipher_nb.battery.calibration.simulation import Outcome, nights

SIZES = (10, 30, 100, 300, 1000)
CHANGED = (0.05, 0.10, 0.20, 0.30)
Called = Literal["REGRESSION", "PROVEN"]


@dataclass(frozen=True)
class Case:
    """A truth, the verdict that is counted, and the share of nights that may (`most`) or should (`least`) get it.

    `least` is meant for the full size of 1,000 samples a category; errors are bounded at every size.
    """

    name: str
    called: Called
    most: float | None = None
    least: float | None = None


EQUAL = Case("equal models", "REGRESSION", most=0.05)
HIDDEN = Case("-0.05 in one category, all others better", "PROVEN", most=0.05)
BETTER = Case("+0.03 everywhere", "PROVEN", least=0.80)
FALL = Case("-0.10 in one category", "REGRESSION", least=0.95)
LIMIT = Case("-0.05 in one category", "REGRESSION", least=0.50)
CASES = (EQUAL, HIDDEN, BETTER, FALL, LIMIT)


@dataclass(frozen=True)
class Calibrated:
    """The share of nights called `case.called`, with `n` samples a category of which `changed` change their score.

    `once` looks at all answers at the end, `early` stops as soon as enough is known and asks `asked` of the samples;
    `rule` is the bare rule, whose failing is its REGRESSION and whose passing is its PROVEN.
    """

    case: Case
    n: int
    changed: float
    trials: int
    once: float
    early: float
    rule: float
    asked: float

    @property
    def holds(self) -> bool | None:
        """Tell whether the goal is met, chance of the trials allowed for (3 standard errors); None without a goal."""
        shares = (self.once, self.early)
        if self.case.most is not None:
            return max(shares) <= self.case.most + _error(self.case.most, self.trials)
        if self.case.least is not None and self.n >= max(SIZES):
            return min(shares) >= self.case.least - _error(self.case.least, self.trials)
        return None


def calibrate(
    *,
    categories: int,
    trials: int = 1000,
    sizes: Sequence[int] = SIZES,
    changed: Sequence[float] = CHANGED,
    seed: int = 1,
) -> Iterator[Calibrated]:
    """Yield a row for every size, share of changed samples and case: `trials` simulated nights judged by the gate.

    Costs about 5 ms a night at 1,000 samples in each of 19 categories.
    """
    for n in sizes:
        for share in changed:
            for case in CASES:
                found = list(nights(_truth(case, categories, share), changed=share, n=n, trials=trials, seed=seed))
                yield _row(case, found, n=n, changed=share)


def _truth(case: Case, categories: int, changed: float) -> list[float]:
    others = categories - 1
    return {
        EQUAL: [0.0] * categories,
        HIDDEN: [-0.05, *[changed] * others],
        BETTER: [0.03] * categories,
        FALL: [-0.10, *[0.0] * others],
        LIMIT: [-0.05, *[0.0] * others],
    }[case]


def _row(case: Case, found: Sequence[Outcome], *, n: int, changed: float) -> Calibrated:
    wanted = case.called == "PROVEN"
    return Calibrated(
        case=case,
        n=n,
        changed=changed,
        trials=len(found),
        once=_share([each.once == case.called for each in found]),
        early=_share([each.early == case.called for each in found]),
        rule=_share([each.rule == wanted for each in found]),
        asked=sum(each.asked for each in found) / len(found),
    )


def _share(hits: Sequence[bool]) -> float:
    return sum(hits) / len(hits)


def _error(share: float, trials: int) -> float:
    return 3.0 * math.sqrt(share * (1 - share) / trials)
