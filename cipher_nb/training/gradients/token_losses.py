"""Cross-entropy of chosen tokens without ever holding the logits of many positions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

CHUNK_LOGITS = 1 << 23


def token_losses(
    hidden: torch.Tensor, targets: torch.Tensor, *, head: Callable[[torch.Tensor], torch.Tensor], vocabulary: int
) -> torch.Tensor:
    """Return the float32 cross-entropy of each target, given the final hidden state before it.

    `head` makes logits of hidden states and is frozen: gradients reach `hidden` only. At most `CHUNK_LOGITS` logits
    exist at a time; their gradient is taken at once, so the backward pass needs none of them.
    """
    positions = max(1, CHUNK_LOGITS // vocabulary)
    losses: torch.Tensor = _InChunks.apply(hidden, targets, head, positions)
    return losses


class _InChunks(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        hidden: torch.Tensor,
        targets: torch.Tensor,
        head: Callable[[torch.Tensor], torch.Tensor],
        positions: int,
    ) -> torch.Tensor:
        wanted = ctx.needs_input_grad[0]
        losses, slopes = list[torch.Tensor](), list[torch.Tensor]()
        for part, aims in zip(hidden.split(positions), targets.split(positions), strict=True):
            part = part.detach().requires_grad_(wanted)
            with torch.set_grad_enabled(wanted):
                loss = torch.nn.functional.cross_entropy(_at_least_float32(head(part)), aims, reduction="none")
                if wanted:
                    slopes += torch.autograd.grad(loss.sum(), part)
            losses.append(loss.detach())
        if wanted:
            ctx.save_for_backward(torch.cat(slopes))
        return torch.cat(losses)

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        (slopes,) = ctx.saved_tensors
        return (grad[:, None] * slopes).to(slopes.dtype), None, None, None


def _at_least_float32(logits: torch.Tensor) -> torch.Tensor:
    return logits.to(torch.promote_types(logits.dtype, torch.float32))
