"""Creep: many accepted nights, each a little worse in one category, with and without the anchors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cipher_nb.battery.rule import MAX_DROP

if TYPE_CHECKING:
    from numpy.random import Generator
    from numpy.typing import NDArray

NIGHTS = 30
STEP = -0.02
START = 0.7
"""The base's true score in the category."""


@dataclass(frozen=True)
class Crept:
    """How far the category truly fell below the base, on average and at worst, and how many nights were accepted."""

    n: int
    changed: float
    anchored: bool
    mean_drop: float
    worst_drop: float
    accepted: float


def creep(*, n: int, changed: float, anchored: bool, trials: int = 400, seed: int = 1) -> Crept:
    """Simulate `trials` months of nights whose candidate truly loses 0.02 in one category against production.

    The same `n` sealed samples are asked every night, and a candidate becomes production whenever the rule lets the
    category pass: against production, and if `anchored` against the base too. All other categories are taken to gain
    enough for the composite never to object.
    """
    import numpy as np

    rng = np.random.default_rng(seed)
    base = rng.random((trials, n)) < START
    production, level, accepted = base.copy(), np.full(trials, START), np.zeros(trials)
    for _ in range(NIGHTS):
        candidate = _candidate(rng, production, level, changed)
        passed = _allowed(candidate, production)
        if anchored:
            passed &= _allowed(candidate, base)
        production[passed] = candidate[passed]
        level = np.where(passed, np.maximum(level + STEP, 0.0), level)
        accepted += passed
    drops = START - level
    return Crept(n, changed, anchored, float(drops.mean()), float(drops.max()), float(accepted.mean()))


def _candidate(rng: Generator, production: NDArray[Any], level: NDArray[Any], changed: float) -> NDArray[Any]:
    """Flip right answers and wrong ones so often that `changed` samples change and the true score moves by STEP."""
    import numpy as np

    share: NDArray[Any] = np.clip(level, 1e-9, 1 - 1e-9)[:, None]
    lose = np.minimum(1.0, (changed - STEP) / 2 / share)
    gain = np.minimum(1.0, max(0.0, changed + STEP) / 2 / (1 - share))
    draw = rng.random(production.shape)
    return np.where(production, draw >= lose, draw < gain)


def _allowed(candidate: NDArray[Any], against: NDArray[Any]) -> NDArray[Any]:
    lost: NDArray[Any] = against.sum(axis=1) - candidate.sum(axis=1)
    passed: NDArray[Any] = lost <= MAX_DROP * candidate.shape[1] + 1e-9
    return passed
