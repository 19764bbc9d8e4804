"""Paired statistics: what two sets of answers to the same samples say about their difference, and what they cannot."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from cipher_nb.battery.bounds import ERROR, betting_bound, counted_bound

POWER = 0.80
MAX_SAMPLES = 100_000

Differences = Sequence[Fraction]
"""Candidate's score minus production's, sample by sample, each from -1 to 1."""


@dataclass(frozen=True)
class CategoryEvidence:
    """One category, paired per sample.

    `lower` is the one-sided 95 % lower bound of the true delta; `p_worse` the exact probability of losses this heavy by
    chance alone, and `p_worse_holm` the same adjusted for the number of categories. `detectable_drop` is the smallest
    drop that this many samples show with 80 % power, None if they show none. `samples_to_decide` is about how many
    samples would settle the category if gains and losses stayed as frequent: n where it is settled, None if never.
    """

    category: str
    n: int
    gains: int
    losses: int
    delta: float
    lower: float
    p_worse: float
    p_worse_holm: float
    detectable_drop: float | None
    samples_to_decide: int | None


@dataclass(frozen=True)
class CompositeEvidence:
    """The plain mean over categories: its delta and the one-sided 95 % lower bound of the true one."""

    delta: float
    lower: float


def category_evidence(differences: Mapping[str, Differences], *, margin: float) -> tuple[CategoryEvidence, ...]:
    """Return the evidence of each category; `margin` is the drop that must not stay hidden, e.g. 0.05."""
    raw = {category: p_worse(found) for category, found in differences.items()}
    adjusted = holm(raw)
    level = ERROR / max(1, len(differences))
    return tuple(
        _category(category, found, p=raw[category], p_holm=adjusted[category], level=level, margin=margin)
        for category, found in differences.items()
    )


def composite_evidence(differences: Mapping[str, Differences]) -> CompositeEvidence:
    """Return delta and lower bound of the plain mean over categories, however many samples each has."""
    flat = [(float(d), 1 / len(found)) for found in differences.values() for d in found]
    delta = sum((_mean(found) for found in differences.values()), Fraction()) / len(differences)
    return CompositeEvidence(float(delta), betting_bound([d for d, _ in flat], weights=[weight for _, weight in flat]))


def lower_bound(differences: Differences) -> float:
    """Return a one-sided 95 % lower bound for the true mean difference: counted for scores of 0 and 1, else betting."""
    if any(d.denominator != 1 for d in differences):
        return betting_bound([float(d) for d in differences])
    gains, losses = _changes(differences)
    return counted_bound(n=len(differences), gains=gains, losses=losses)


def p_worse(differences: Differences) -> float:
    """Return the exact probability of losses this heavy if gain and loss were equally likely in every changed sample.

    The one-sided sign-flip (paired permutation) test; for scores of 0 and 1 it is McNemar's exact test. Scores are
    taken to the nearest thousandth.
    """
    import numpy as np

    units = [unit for unit in (round(d * 1000) for d in differences) if unit]
    if not units:
        return 1.0
    step = math.gcd(*units)
    lost = sum(-unit for unit in units if unit < 0) // step
    chances = np.ones(1)
    for size in (abs(unit) // step for unit in units):
        flipped = np.zeros(len(chances) + size)
        flipped[: len(chances)] += chances / 2
        flipped[size:] += chances / 2
        chances = flipped
    return min(1.0, float(chances[lost:].sum()))


def holm(p_values: Mapping[str, float]) -> dict[str, float]:
    """Return Holm's step-down adjustment (Scand. J. Stat. 1979): all of them at 5 % together err at most 5 %."""
    adjusted: dict[str, float] = {}
    floor = 0.0
    for rank, (name, p) in enumerate(sorted(p_values.items(), key=lambda item: item[1])):
        floor = max(floor, min(1.0, p * (len(p_values) - rank)))
        adjusted[name] = floor
    return {name: adjusted[name] for name in p_values}


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

    Settled is: the lower bound is above `-margin`, or the drop exceeds `margin` and is significant at `level`. None if
    100 000 samples would not do.
    """
    wanted = float(n)
    while not _settled(wanted / n, n=n, gains=gains, losses=losses, margin=margin, level=level):
        wanted *= 1.1
        if wanted > MAX_SAMPLES:
            return None
    return math.ceil(wanted)


def _settled(times: float, *, n: int, gains: int, losses: int, margin: float, level: float) -> bool:
    from scipy.stats import binom

    more, fewer = gains * times, losses * times
    if (losses - gains) / n > margin:
        return bool(binom.sf(round(fewer) - 1, round(more) + round(fewer), 0.5) <= level)
    return counted_bound(n=math.ceil(n * times), gains=more, losses=fewer) > -margin


def _category(
    category: str, differences: Differences, *, p: float, p_holm: float, level: float, margin: float
) -> CategoryEvidence:
    n = len(differences)
    gains, losses = _changes(differences)
    return CategoryEvidence(
        category=category,
        n=n,
        gains=gains,
        losses=losses,
        delta=float(_mean(differences)),
        lower=lower_bound(differences),
        p_worse=p,
        p_worse_holm=p_holm,
        detectable_drop=detectable_drop(n=n, changed=(gains + losses) / n, level=level),
        samples_to_decide=samples_to_decide(n=n, gains=gains, losses=losses, margin=margin, level=level),
    )


def _mean(differences: Differences) -> Fraction:
    return sum(differences, Fraction()) / len(differences)


def _changes(differences: Differences) -> tuple[int, int]:
    return sum(d > 0 for d in differences), sum(d < 0 for d in differences)
