"""The composite: the plain mean over categories, and whether it moved by more than chance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from cipher_nb.battery.evidence.betting import betting_bound, log_wealth
from cipher_nb.battery.evidence.looks import Look
from cipher_nb.battery.evidence.paired import Tally

HOPE = 1.5
"""How many standard errors better than it looks the composite may truly be and is still given up."""


def composite_delta(tallies: Sequence[Tally]) -> Fraction:
    return sum((tally.delta for tally in tallies), Fraction()) / len(tallies)


def composite_bound(tallies: Sequence[Tally], *, level: float) -> float:
    """Return a lower bound of the plain mean over categories that errs at most at `level`, stratified by category.

    Each sample weighs one over its category's number of samples.
    """
    values, times, weights = _weighed(tallies)
    return betting_bound(values, times=times, weights=weights, level=level)


def p_not_better(tallies: Sequence[Tally]) -> float:
    """Return a p-value against "the true composite is at most 0"; by betting, so never below the exact one."""
    values, times, weights = _weighed(tallies)
    return min(1.0, math.exp(-log_wealth(values, mean=0.0, times=times, weights=weights)))


def p_not_worse(tallies: Sequence[Tally]) -> float:
    """Return the same against "the true composite is at least 0"."""
    return p_not_better([tally.mirrored() for tally in tallies])


def could_still_be_lifted(tallies: Sequence[Tally], last: Look) -> bool:
    """Tell whether asking all samples could lift the composite, were it 1.5 standard errors better than it looks.

    To give up here can only lose a PROVEN, never win one. By the normal approximation of the bound at the last look.
    """
    changed = sum(((tally.gains + tally.losses) / tally.n - float(tally.delta) ** 2) / tally.n for tally in tallies)
    error = math.sqrt(changed) / len(tallies)
    shrunk = math.sqrt(max(tally.n for tally in tallies) / last.n)
    needed = math.sqrt(2 * math.log(1 / last.level)) * error * shrunk
    return float(composite_delta(tallies)) + HOPE * error > needed


def _weighed(tallies: Sequence[Tally]) -> tuple[Sequence[float], Sequence[int], Sequence[float]]:
    seen = [(value, times, 1 / tally.n) for tally in tallies for value, times in tally.values().items() if times]
    values, times, weights = zip(*seen, strict=True)
    return values, times, weights
