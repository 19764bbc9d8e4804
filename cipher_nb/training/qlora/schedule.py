"""What a run does when: its batches in order, and the learning rate of every step."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence

from cipher_nb.config import TrainingSettings
from cipher_nb.training.gradients.batches import Sample


def batches(samples: Sequence[Sample], settings: TrainingSettings) -> Iterator[list[Sample]]:
    """Yield the batch of every step: each epoch has all samples once, in an order of its own that the seed decides."""
    rng = random.Random(settings.seed)  # noqa: S311
    for _ in range(settings.epochs):
        order = rng.sample(samples, len(samples))
        for start in range(0, len(order), settings.batch_size):
            yield order[start : start + settings.batch_size]


def steps_of(samples: Sequence[Sample], settings: TrainingSettings) -> int:
    """Return how many steps that makes."""
    return settings.epochs * math.ceil(len(samples) / settings.batch_size)


def learning_rate(number: int, total: int, settings: TrainingSettings) -> float:
    """Return the rate of step `number` (from 1): it rises over the warm-up, then follows the schedule.

    "linear" and "cosine" fall to zero, which they would reach the step after the last.
    """
    warmup = max(1, math.ceil(total * settings.warmup_share))
    if number < warmup:
        return settings.lr * number / warmup
    left = (total - number + 1) / (total - warmup + 1)
    shares = {"linear": left, "cosine": (1 - math.cos(math.pi * left)) / 2, "constant": 1.0}
    return settings.lr * shares[settings.schedule]
