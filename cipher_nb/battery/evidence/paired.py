"""What the paired scores of one category say: is it worse than chance explains, and how far down could it be."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from cipher_nb.battery.evidence import exact
from cipher_nb.battery.evidence.betting import betting_bound


@dataclass(frozen=True, slots=True)
class Tally:
    """How the candidate's scores differ from production's on `n` samples.

    `delta` is the mean difference. `parts` holds all differences where some are neither -1, 0 nor 1, else nothing.
    """

    n: int
    gains: int
    losses: int
    delta: Fraction
    parts: tuple[Fraction, ...] = ()

    @classmethod
    def of(cls, differences: Sequence[Fraction]) -> Tally:
        """Count differences from -1 to 1, sample by sample."""
        whole = all(d.denominator == 1 for d in differences)
        return cls(
            n=len(differences),
            gains=sum(d > 0 for d in differences),
            losses=sum(d < 0 for d in differences),
            delta=sum(differences, Fraction()) / len(differences),
            parts=() if whole else tuple(differences),
        )

    @classmethod
    def counted(cls, *, n: int, gains: int, losses: int) -> Tally:
        return cls(n, gains, losses, Fraction(gains - losses, n))

    def mirrored(self) -> Tally:
        """Return the tally with the two sides exchanged."""
        return Tally(self.n, self.losses, self.gains, -self.delta, tuple(-part for part in self.parts))

    def values(self) -> Counter[float]:
        """Return how often each difference was seen."""
        if self.parts:
            return Counter(float(part) for part in self.parts)
        return Counter({1.0: self.gains, -1.0: self.losses, 0.0: self.n - self.gains - self.losses})


def lower_bound(tally: Tally, *, level: float) -> float:
    """Return a one-sided lower bound of the true mean difference: exact for scores of 0 and 1, else by betting."""
    if tally.parts:
        return betting_bound([float(part) for part in tally.parts], level=level)
    return exact.lower_bound(n=tally.n, gains=tally.gains, losses=tally.losses, level=level)


def is_above(tally: Tally, difference: float, *, level: float) -> bool:
    """Tell whether the true mean difference is above `difference`, erring at most at `level` where it is not."""
    if tally.parts:
        return betting_bound([float(part) for part in tally.parts], level=level) >= difference
    needed = exact.fewest_gains(n=tally.n, difference=difference, level=level)
    return tally.gains >= needed[tally.gains + tally.losses]


def p_worse(tally: Tally) -> float:
    """Return the exact probability of losses this heavy if gain and loss were equally likely in every changed sample.

    The one-sided sign-flip (paired permutation) test; for scores of 0 and 1 it is McNemar's exact test. Scores are
    taken to the nearest thousandth.
    """
    if tally.parts:
        return _flipped(tally.parts)
    from scipy.special import bdtrc

    changed = tally.gains + tally.losses
    return float(bdtrc(tally.losses - 1, changed, 0.5)) if tally.losses else 1.0


def _flipped(differences: Sequence[Fraction]) -> float:
    import numpy as np

    units = [unit for unit in (round(d * 1000) for d in differences) if unit]
    step = math.gcd(*units)
    lost = sum(-unit for unit in units if unit < 0) // step
    chances = np.ones(1)
    for size in (abs(unit) // step for unit in units):
        longer = np.zeros(len(chances) + size)
        longer[: len(chances)] += chances / 2
        longer[size:] += chances / 2
        chances = longer
    return min(1.0, float(chances[lost:].sum()))


def holm(p_values: Mapping[str, float]) -> dict[str, float]:
    """Return Holm's step-down adjustment (Scand. J. Stat. 1979): all of them at 5 % together err at most 5 %."""
    adjusted: dict[str, float] = {}
    floor = 0.0
    for rank, (name, p) in enumerate(sorted(p_values.items(), key=lambda item: item[1])):
        floor = max(floor, min(1.0, p * (len(p_values) - rank)))
        adjusted[name] = floor
    return {name: adjusted[name] for name in p_values}
