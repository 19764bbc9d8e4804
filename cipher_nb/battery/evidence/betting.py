"""Evidence about a true mean difference by betting: for scores of any fraction, valid at any number of samples."""

from __future__ import annotations

import math
from collections.abc import Sequence

ERROR = 0.05
STAKES = tuple(2.0**-halvings for halvings in range(7))


def log_wealth(
    differences: Sequence[float],
    *,
    mean: float,
    times: Sequence[int] | None = None,
    weights: Sequence[float] | None = None,
) -> float:
    """Return the natural log of what betting against "the true (weighted) mean is at most `mean`" has won.

    Waudby-Smith and Ramdas, "Estimating means of bounded random variables by betting", JRSS-B 2024, with fixed
    stakes. Were the mean m, then for a stake f the product of 1 + f*w*((1 + d)/(1 + m) - 1) over the samples (w: weight
    over largest weight) would expect at most 1, also where samples differ in their own true means (inequality of
    arithmetic and geometric mean). So would its plain average over the stakes 1, 1/2, … 1/64, which by Markov's
    inequality then reaches 1/p with a chance of at most p. Differences lie in [-1, 1]; `times` says how often each one
    was seen, so that many equal ones cost no more than one.
    """
    import numpy as np

    d = np.asarray(differences, dtype=float)
    w = np.ones_like(d) if weights is None else np.asarray(weights, dtype=float) / max(weights)
    seen = np.ones_like(d) if times is None else np.asarray(times, dtype=float)
    stakes = np.asarray(STAKES)[:, None] * w
    with np.errstate(divide="ignore"):
        won = (seen * np.log1p(stakes * ((1 + d) / (1 + mean) - 1))).sum(axis=1)
    return float(np.logaddexp.reduce(won)) - math.log(len(STAKES))


def betting_bound(
    differences: Sequence[float],
    *,
    times: Sequence[int] | None = None,
    weights: Sequence[float] | None = None,
    level: float = ERROR,
) -> float:
    """Return a one-sided lower bound of the true (weighted) mean that errs at most at `level`."""
    low, high = -1.0, 1.0
    for _ in range(40):
        middle = (low + high) / 2
        refuted = log_wealth(differences, mean=middle, times=times, weights=weights) >= -math.log(level)
        low, high = (middle, high) if refuted else (low, middle)
    return low
