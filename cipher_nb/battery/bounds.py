"""Lower bounds for a true mean difference, valid at any number of samples."""

from __future__ import annotations

import math
from collections.abc import Sequence

ERROR = 0.05
LOSS_SHARE = 0.8
STAKES = tuple(2.0**-halvings for halvings in range(7))


def counted_bound(*, n: int, gains: float, losses: float) -> float:
    """Return a one-sided 95 % lower bound for the true difference of two paired shares.

    Gains and losses among `n` samples each get an exact one-sided limit (Clopper and Pearson, Biometrika 1934), with
    1 % of error for the gains and 4 % for the losses, so that their difference errs at most 5 %. Samples of different
    difficulty only make it more careful (Hoeffding, Ann. Math. Stat. 1956). Without any loss it takes 63 samples
    to lift it above -0.05, with one loss 99.
    """
    from scipy.stats import beta

    least_gain = beta.ppf(ERROR * (1 - LOSS_SHARE), gains, n - gains + 1) if gains else 0.0
    most_loss = beta.isf(ERROR * LOSS_SHARE, losses + 1, n - losses) if losses < n else 1.0
    return float(least_gain - most_loss)


def betting_bound(differences: Sequence[float], *, weights: Sequence[float] | None = None) -> float:
    """Return a one-sided 95 % lower bound for the (weighted) mean of true differences that lie in [-1, 1].

    Waudby-Smith and Ramdas, "Estimating means of bounded random variables by betting", JRSS-B 2024, with fixed
    stakes. Were the mean m, then for a stake f the product of 1 + f*w*((1 + d)/(1 + m) - 1) over the samples (w: weight
    over largest weight) would expect at most 1, also where samples differ in their own true means (inequality of
    arithmetic and geometric mean). So would its plain average over the stakes 1, 1/2, … 1/64, which by Markov's
    inequality then reaches 20 with a chance of at most 5 %. The bound is the m at which it stops doing so.
    """
    import numpy as np

    d = np.asarray(differences, dtype=float)
    w = np.ones_like(d) if weights is None else np.asarray(weights, dtype=float) / max(weights)
    stakes = np.asarray(STAKES)[:, None] * w

    def refuted(mean: float) -> bool:
        with np.errstate(divide="ignore"):
            wealth = np.log1p(stakes * ((1 + d) / (1 + mean) - 1)).sum(axis=1)
        return bool(np.logaddexp.reduce(wealth) - math.log(len(STAKES)) >= -math.log(ERROR))

    low, high = -1.0, 1.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if refuted(middle) else (low, middle)
    return low
