"""What a battery of a size could have seen, and what size would see enough."""

from __future__ import annotations

import math
from functools import lru_cache

from cipher_nb.battery.evidence.betting import ERROR
from cipher_nb.battery.evidence.exact import score_statistic

POWER = 0.80
MAX_SAMPLES = 100_000


def power_of(drop: float, *, n: int, changed: float, level: float = ERROR) -> float:
    """Return the probability that the exact test at `level` shows a true `drop` among `n` samples scored 0 or 1.

    `changed` is the share of samples whose score changes; it is taken as `drop` where it is less.
    """
    import numpy as np
    from scipy.stats import binom

    changed = min(1.0, max(changed, drop))
    counts = np.arange(n + 1)
    needed = binom.isf(level, counts, 0.5) + 1
    shown = binom.sf(needed - 1, counts, (changed + drop) / (2 * changed))
    return float((binom.pmf(counts, n, changed) * shown).sum())


@lru_cache(maxsize=1024)
def detectable_drop(*, n: int, changed: float, level: float = ERROR) -> float | None:
    """Return the smallest drop, to a thousandth, that `n` samples show with 80 % power, or None if they show none."""
    if power_of(1.0, n=n, changed=changed, level=level) < POWER:
        return None
    low, high = 0, 1000
    while high - low > 1:
        middle = (low + high) // 2
        enough = power_of(middle / 1000, n=n, changed=changed, level=level) >= POWER
        low, high = (low, middle) if enough else (middle, high)
    return high / 1000


@lru_cache(maxsize=1024)
def samples_to_decide(*, n: int, gains: int, losses: int, margin: float, level: float = ERROR) -> int | None:
    """Return about how many samples (within a tenth) would settle the question if the rates stayed as they are.

    Settled is: the true difference is above `-margin` (by the normal approximation), or the drop is `margin` or more
    and significant at `level`. None if 100 000 samples would not do.
    """
    wanted = float(n)
    while not _settled(wanted / n, n=n, gains=gains, losses=losses, margin=margin, level=level):
        wanted *= 1.1
        if wanted > MAX_SAMPLES:
            return None
    return math.ceil(wanted)


def _settled(times: float, *, n: int, gains: int, losses: int, margin: float, level: float) -> bool:
    from scipy.stats import binom, norm

    more, fewer = gains * times, losses * times
    if (losses - gains) / n >= margin:
        return bool(binom.sf(round(fewer) - 1, round(more) + round(fewer), 0.5) <= level)
    if not losses + gains:
        return bool((1 - margin) ** (n * times) <= ERROR)
    return score_statistic(n=n * times, gains=more, losses=fewer, difference=-margin) >= float(norm.isf(ERROR))
