"""The gradients of one optimizer step, prefixes computed once where the model's family is known to allow it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from cipher_nb.training.gradients.batches import Sample, lay_out, micro_batches

if TYPE_CHECKING:
    import torch

FAMILIES = ("gemma2", "gemma3_text", "llama", "mistral", "phi3", "qwen2", "qwen3")
"""Families, by transformers' `model_type`, whose gradients are tested to be those of one sample at a time."""
_ROTATION_BY_LENGTH = ("dynamic", "longrope")


class Stopped(Exception):  # noqa: N818
    """`should_stop` said so in the middle of a step; the gradients so far are of no use."""


def accumulate_gradients(
    causal_lm: Any, batch: Sequence[Sample], *, max_tokens: int, should_stop: Callable[[], bool] | None = None
) -> float:
    """Add the gradients of the mean loss over the batch's response tokens, and return that loss.

    `causal_lm` is a transformers causal model, which may hold an adapter; its output layer is frozen. A forward pass
    takes `max_tokens`, or one longer sample. Raises Stopped where `should_stop`, asked before each pass, says so.
    """
    learned = sum(sample.response_tokens for sample in batch)
    mean = 0.0
    with sharing(causal_lm):
        for group in groups(causal_lm, batch, max_tokens=max_tokens):
            if should_stop and should_stop():
                raise Stopped
            loss = response_losses(causal_lm, group).sum() / learned
            loss.backward()
            mean += float(loss.detach())
    return mean


def why_plain(causal_lm: Any) -> str:
    """Return why the samples of this model are computed one at a time; "" where they share their prefixes."""
    config = causal_lm.config
    if config.model_type not in FAMILIES:
        return f"prefixes are not shared: {config.model_type!r} is none of {', '.join(FAMILIES)}"
    if getattr(config, "use_bidirectional_attention", False):
        return "prefixes are not shared: the model looks ahead (use_bidirectional_attention)"
    if getattr(config, "attention_dropout", 0.0):
        return f"prefixes are not shared: the model drops attention out (attention_dropout {config.attention_dropout})"
    return ""


def groups(causal_lm: Any, samples: Sequence[Sample], *, max_tokens: int) -> list[list[Sample]]:
    """Return `samples`, sorted, in the groups that one forward pass takes each."""
    if why_plain(causal_lm):
        return [[sample] for sample in sorted(samples)]
    return list(micro_batches(samples, max_tokens=min(max_tokens, _same_rotation(causal_lm.config))))


@contextlib.contextmanager
def sharing(causal_lm: Any) -> Iterator[None]:
    """Switch `causal_lm` to attention along branches; with gradient checkpointing, backward passes need that as well.

    A model that `why_plain` has something against is left as it is.
    """
    if why_plain(causal_lm):
        yield
        return
    from cipher_nb.training.gradients.attention import tree_attention

    with tree_attention(causal_lm):
        yield


def response_losses(causal_lm: Any, samples: Sequence[Sample]) -> torch.Tensor:
    """Return the cross-entropy of each response token, sample after sample in sorted order; only within `sharing`."""
    import torch

    if why_plain(causal_lm):
        return torch.cat([_plain_losses(causal_lm, sample) for sample in sorted(samples)])
    return _tree_losses(causal_lm, samples)


def _plain_losses(causal_lm: Any, sample: Sample) -> torch.Tensor:
    import torch

    ids = torch.tensor(sample.tokens, device=causal_lm.device)
    logits = causal_lm(input_ids=ids[None], use_cache=False).logits[0, sample.prompt_tokens - 1 : -1]
    return torch.nn.functional.cross_entropy(logits.float(), ids[sample.prompt_tokens :], reduction="none")


def _tree_losses(causal_lm: Any, samples: Sequence[Sample]) -> torch.Tensor:
    import torch

    from cipher_nb.training.gradients.attention import Branches
    from cipher_nb.training.gradients.token_losses import token_losses

    tree, device = lay_out(samples), causal_lm.device
    hidden = causal_lm.base_model(
        input_ids=torch.tensor([tree.tokens], device=device),
        position_ids=torch.tensor([tree.positions], device=device),
        branches=Branches(tree, device),
        use_cache=False,
    ).last_hidden_state[0]
    return token_losses(
        hidden[torch.tensor(tree.sources, device=device)],
        torch.tensor(tree.targets, device=device),
        head=lambda states: _logits(causal_lm, states),
        vocabulary=causal_lm.config.vocab_size,
    )


def _logits(causal_lm: Any, hidden: torch.Tensor) -> torch.Tensor:
    logits: torch.Tensor = causal_lm.get_output_embeddings()(hidden)
    cap = getattr(causal_lm.config, "final_logit_softcapping", None)
    return logits if cap is None else cap * (logits / cap).tanh()


def _same_rotation(config: Any) -> int:
    """Return the length up to which a token's rotation does not depend on the longest sample beside it."""
    rope = config.rope_parameters
    if rope.get("rope_type") not in _ROTATION_BY_LENGTH:
        return 1 << 62
    return int(rope.get("original_max_position_embeddings") or config.max_position_embeddings)
