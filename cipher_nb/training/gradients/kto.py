"""Kahneman-Tversky optimisation: learning from single answers, each of them either wanted or rejected.

The loss is that of Ethayarajh et al. 2024 (arXiv:2402.01306, equation 7), which needs no pairs of a better and a worse
answer: `weight * (1 - sigmoid(beta * (r - z)))` for a wanted answer, `weight * (1 - sigmoid(beta * (z - r)))` for a
rejected one, where r is the log-probability of the answer, summed over its tokens, less what it is with the adapter
off. The paper estimates z from prompts beside answers to other prompts of the batch; one answer alone has no such, and
z is 0 here, as in TRL's `apo_zero_unpaired` (D'Oosterlinck et al. 2024, arXiv:2408.06266). So an answer's loss does not
depend on what lies beside it: neither micro-batches nor the number of processes change it.

It comes on top of the plain loss, which approved, practice and replay pairs keep: a batch's loss is the cross-entropy
of their response tokens, plus `4 / beta` times the losses above of what is judged in the batch, all that divided by the
number of those tokens. 1 - sigmoid(beta * r) falls by beta / 4 a nat at r = 0. So with weight 1 a rejected answer is at
first unlearned as strongly as one is learned, however long it is, and ever less the further it is from the base.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cipher_nb.training.gradients.accumulate import Stopped, groups, response_losses, sharing
from cipher_nb.training.gradients.batches import Sample

if TYPE_CHECKING:
    import torch

BETA = 0.1
"""How much a nat of r counts: what the paper's code and TRL default to."""
NATS = 4 / BETA
MOST_WANTED = 4 / 3
"""The paper's bound: all wanted answers together weigh 1 to 4/3 times what all rejected ones do."""


@dataclass(frozen=True)
class Word:
    """What was said of an answer, and how much that weighs."""

    wanted: bool
    weight: float


@dataclass(frozen=True)
class Judgements:
    """What was said of which answer.

    `beside` has the rejected answers that are learned together with a sample of the plain loss.
    """

    words: Mapping[Sample, Word]
    beside: Mapping[Sample, Sequence[Sample]]

    def rejects(self, sample: Sample) -> bool:
        return sample in self.words and not self.words[sample].wanted


def judge(learned: Sequence[Sample], *, wanted: Sequence[Sample], rejected: Sequence[Sample]) -> Judgements | None:
    """Return the judgements over `learned`, the samples of the plain loss, `wanted` among them.

    The rejected are spread over the learned, so that each comes once an epoch; what is learned is not rejected as well.
    None where there is not both wanted and rejected.
    """
    also_learned = set(learned)
    rejected = [sample for sample in dict.fromkeys(rejected) if sample not in also_learned]
    if not wanted or not rejected:
        return None
    for_one, against_one = balanced(len(wanted), len(rejected))
    words = {sample: Word(wanted=True, weight=for_one) for sample in wanted}
    words |= {sample: Word(wanted=False, weight=against_one) for sample in rejected}
    beside: dict[Sample, list[Sample]] = {}
    for number, sample in enumerate(rejected):
        beside.setdefault(learned[number * len(learned) // len(rejected)], []).append(sample)
    return Judgements(words, beside)


def balanced(wanted: int, rejected: int) -> tuple[float, float]:
    """Return the weights of one wanted and of one rejected answer, within the bound.

    It is the more frequent kind that weighs less than 1: no single answer ever counts for many.
    """
    if wanted < rejected:
        return 1.0, wanted / rejected
    return min(1.0, MOST_WANTED * rejected / wanted), 1.0


def kto_gradients(
    model: Any, judgements: Judgements, *, max_tokens: int, should_stop: Callable[[], bool] | None = None
) -> Callable[[Sequence[Sample]], float]:
    """Return what does for `model`, a peft model, what `accumulate_gradients` does, and learns the judgements as well.

    The loss that it returns is the plain part. Its first call also makes the reference: a pass over all that is judged.
    """
    causal_lm = model.get_base_model()
    limits: dict[str, Any] = {"max_tokens": max_tokens, "should_stop": should_stop}
    reference: dict[Sample, float] = {}

    def gradients(batch: Sequence[Sample]) -> float:
        if not reference:
            with model.disable_adapter():
                reference.update(answer_logprobs(causal_lm, list(judgements.words), **limits))
        beside = [sample for each in batch for sample in judgements.beside.get(each, ())]
        learned = sum(sample.response_tokens for sample in batch)
        mean = 0.0
        for losses in _forward(causal_lm, [*batch, *beside], **limits):
            plain, judged = _parts(losses, judgements, reference)
            ((plain + NATS * judged) / learned).backward()
            mean += float(plain.detach()) / learned
        return mean

    return gradients


def answer_logprobs(
    causal_lm: Any, samples: Sequence[Sample], *, max_tokens: int, should_stop: Callable[[], bool] | None = None
) -> dict[Sample, float]:
    """Return the log-probability of the response of each sample, summed over its tokens."""
    import torch

    with torch.no_grad():
        found = _forward(causal_lm, samples, max_tokens=max_tokens, should_stop=should_stop)
        return {sample: -float(losses.sum()) for group in found for sample, losses in group}


def kto_loss(logprob: torch.Tensor, reference: float, word: Word) -> torch.Tensor:
    """Return the loss of an answer whose log-probability is `logprob`, and `reference` with the adapter off."""
    import torch

    r = logprob - reference
    return word.weight * (1 - torch.sigmoid(BETA * r if word.wanted else -BETA * r))


def _forward(
    causal_lm: Any, samples: Sequence[Sample], *, max_tokens: int, should_stop: Callable[[], bool] | None
) -> Iterator[list[tuple[Sample, torch.Tensor]]]:
    """Yield after each forward pass its samples with the cross-entropy of each response token; raises Stopped."""
    with sharing(causal_lm):
        for group in groups(causal_lm, samples, max_tokens=max_tokens):
            if should_stop and should_stop():
                raise Stopped
            losses = response_losses(causal_lm, group).split([sample.response_tokens for sample in group])
            yield list(zip(group, losses, strict=True))


def _parts(
    losses: Sequence[tuple[Sample, torch.Tensor]], judgements: Judgements, reference: Mapping[Sample, float]
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the summed plain loss and the summed loss of what is judged."""
    plain = judged = losses[0][1].new_zeros(())
    for sample, each in losses:
        if not judgements.rejects(sample):
            plain = plain + each.sum()
        if sample in judgements.words:
            judged = judged + kto_loss(-each.sum(), reference[sample], judgements.words[sample])
    return plain, judged
