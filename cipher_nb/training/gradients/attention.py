"""Attention along the branches of a tree: each node sees its ancestors and itself, within the layer's window.

It takes the place of the model's own attention, which tells it scale, window and soft-capping of the layer, so one
function serves every family. Queries go in blocks, each against the keys that some query of the block sees; masks are
made per block and forgotten, and the backward pass computes a block again, so memory grows with the nodes only.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from transformers import AttentionInterface

from cipher_nb.training.gradients.batches import Tree

NAME = "cipher_nb_tree"
BLOCK_NODES = {"cpu": 128}
BLOCK_NODES_ELSEWHERE = 1024


@dataclass(frozen=True)
class Block:
    """The nodes from `start` up to `stop`, and the nodes that at least one of them sees."""

    start: int
    stop: int
    keys: torch.Tensor


class Branches:
    """Which nodes of `tree` see which; a layer with a window sees only so many positions, its own among them."""

    def __init__(self, tree: Tree, device: torch.device) -> None:
        self._ends = torch.tensor(tree.ends, device=device)
        self._positions = torch.tensor(tree.positions, device=device)
        self._nodes = torch.arange(len(tree.ends), device=device)
        self._block = BLOCK_NODES.get(device.type, BLOCK_NODES_ELSEWHERE)
        self._blocks: dict[int | None, list[Block]] = {}

    def blocks(self, window: int | None) -> list[Block]:
        if window not in self._blocks:
            starts = range(0, len(self._nodes), self._block)
            self._blocks[window] = [self._block_at(start, window) for start in starts]
        return self._blocks[window]

    def seen(self, block: Block, window: int | None) -> torch.Tensor:
        """Return a boolean (queries, keys) matrix."""
        nodes = self._nodes[block.start : block.stop, None]
        seen = (block.keys <= nodes) & (nodes < self._ends[block.keys])
        if window is not None:
            seen &= self._positions[block.start : block.stop, None] - self._positions[block.keys] < window
        return seen

    def _block_at(self, start: int, window: int | None) -> Block:
        stop = min(start + self._block, len(self._nodes))
        ancestors = self._nodes[:stop][self._ends[:stop] > start]
        wide = Block(start, stop, ancestors)
        return Block(start, stop, ancestors[self.seen(wide, window).any(0)])


@contextmanager
def tree_attention(causal_lm: Any) -> Iterator[None]:
    """Let `causal_lm` attend along the `branches` it is called with; backward passes belong in here too."""
    AttentionInterface.register(NAME, _attention)
    before = causal_lm.config._attn_implementation
    causal_lm.set_attn_implementation(NAME)
    try:
        yield
    finally:
        causal_lm.set_attn_implementation(before)


def _attention(
    module: Any,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: None,
    *,
    scaling: float,
    branches: Branches,
    sliding_window: int | None = None,
    softcap: float | None = None,
    **_: Any,
) -> tuple[torch.Tensor, None]:
    """What transformers calls in each layer, with (1, heads, nodes, head size)."""
    out = _InBlocks.apply(query, key, value, branches, sliding_window, scaling, softcap)
    return out.transpose(1, 2).contiguous(), None


class _InBlocks(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        branches: Branches,
        window: int | None,
        scale: float,
        softcap: float | None,
    ) -> torch.Tensor:
        ctx.save_for_backward(query, key, value)
        ctx.how = branches, window, scale, softcap
        out = torch.empty_like(query)
        for block in branches.blocks(window):
            rows = slice(block.start, block.stop)
            seen = branches.seen(block, window)
            parts = query[:, :, rows], key[:, :, block.keys], value[:, :, block.keys]
            out[:, :, rows] = _attend(*parts, seen=seen, scale=scale, softcap=softcap)
        return out

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        query, key, value = ctx.saved_tensors
        branches, window, scale, softcap = ctx.how
        to_query, to_key, to_value = torch.empty_like(query), torch.zeros_like(key), torch.zeros_like(value)
        for block in branches.blocks(window):
            rows = slice(block.start, block.stop)
            seen = branches.seen(block, window)
            parts = [query[:, :, rows].detach(), key[:, :, block.keys], value[:, :, block.keys]]
            with torch.enable_grad():
                out = _attend(*[part.requires_grad_() for part in parts], seen=seen, scale=scale, softcap=softcap)
            of_query, of_key, of_value = torch.autograd.grad(out, parts, grad[:, :, rows])
            to_query[:, :, rows] = of_query
            to_key.index_add_(2, block.keys, of_key)
            to_value.index_add_(2, block.keys, of_value)
        return to_query, to_key, to_value, None, None, None, None


def _attend(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    *,
    seen: torch.Tensor,
    scale: float,
    softcap: float | None,
) -> torch.Tensor:
    groups = query.shape[1] // key.shape[1]
    seen = seen.repeat(groups, 1)
    together = query.reshape(1, key.shape[1], -1, query.shape[3])  # the query heads of one key head, end to end
    if softcap is None:
        out = torch.nn.functional.scaled_dot_product_attention(together, key, value, attn_mask=seen, scale=scale)
    else:
        scores = torch.tanh(together @ key.transpose(2, 3) * (scale / softcap)) * softcap
        shares = scores.masked_fill(~seen, -torch.inf).softmax(
            -1, dtype=torch.promote_types(scores.dtype, torch.float32)
        )
        out = shares.to(value.dtype) @ value
    return out.reshape(query.shape)
