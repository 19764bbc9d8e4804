"""What a run learns, made of its pairs: the samples of the plain loss, and what is judged beside them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from cipher_nb.config import TrainingSettings
from cipher_nb.training.data.dataset import REPLAY
from cipher_nb.training.data.pairs import Pair
from cipher_nb.training.data.rejected import REJECTED
from cipher_nb.training.gradients.accumulate import accumulate_gradients
from cipher_nb.training.gradients.batches import Sample
from cipher_nb.training.gradients.kto import Judgements, judge, kto_gradients
from cipher_nb.training.qlora.tokens import encode

NOTHING_REJECTED = "rejections: there is nothing to learn from them, without rejected answers or without others"


@dataclass(frozen=True)
class Material:
    """`pair_ids` are those learned from, `dropped_long` counts those that were too long."""

    samples: tuple[Sample, ...]
    judgements: Judgements | None
    pair_ids: tuple[str, ...]
    dropped_long: int
    notes: tuple[str, ...]

    @property
    def everything(self) -> tuple[Sample, ...]:
        """The samples, and then all that is judged."""
        return (*self.samples, *(self.judgements.words if self.judgements else ()))

    def gradients(
        self, model: Any, *, max_tokens: int, should_stop: Callable[[], bool] | None
    ) -> Callable[[Sequence[Sample]], float]:
        """Return what adds the gradients of some of the samples, and of what is judged beside them, to `model`."""
        if self.judgements:
            return kto_gradients(model, self.judgements, max_tokens=max_tokens, should_stop=should_stop)
        return partial(accumulate_gradients, model.get_base_model(), max_tokens=max_tokens, should_stop=should_stop)


def material_of(pairs: Sequence[Pair], tokenizer: Any, settings: TrainingSettings) -> Material:
    """Return what is learned from `pairs`; the rejected ones only count where [training] rejections says "kto".

    Then approved and practice pairs are what is wanted, and replay is neither wanted nor rejected.
    """
    learned = encode([pair for pair in pairs if pair.source != REJECTED], tokenizer, max_tokens=settings.max_tokens)
    if settings.rejections == "ignore":
        return Material(learned.samples, None, tuple(pair.id for pair in learned.pairs), len(learned.long), ())
    rejected = encode([pair for pair in pairs if pair.source == REJECTED], tokenizer, max_tokens=settings.max_tokens)
    sides = zip(learned.pairs, learned.samples, strict=True)
    judgements = judge(
        learned.samples,
        wanted=[sample for pair, sample in sides if pair.source != REPLAY],
        rejected=rejected.samples,
    )
    sides = zip(rejected.pairs, rejected.samples, strict=True)
    against = [pair for pair, sample in sides if judgements and judgements.rejects(sample)]
    return Material(
        samples=learned.samples,
        judgements=judgements,
        pair_ids=tuple(pair.id for pair in (*learned.pairs, *against)),
        dropped_long=len(learned.long) + len(rejected.long),
        notes=() if judgements else (NOTHING_REJECTED,),
    )
