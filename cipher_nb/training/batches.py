"""Micro-batches as trees: every prefix that samples share is computed once.

All samples of a micro-batch become one sequence. A token that several samples have in common up to that point stands
there once; it attends to its own ancestors only, and its position is its depth. So each token sees exactly what it
would see in a sample of its own, and loss and gradients are those of the plain computation.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True, order=True)
class Sample:
    """Token ids: the first `prompt_tokens` are given, the others are learned."""

    tokens: tuple[int, ...]
    prompt_tokens: int

    @property
    def response_tokens(self) -> int:
        return len(self.tokens) - self.prompt_tokens


@dataclass(frozen=True)
class Tree:
    """One micro-batch. `parents` is -1 at a root; token `targets[i]` is to be predicted at node `sources[i]`."""

    tokens: tuple[int, ...]
    positions: tuple[int, ...]
    parents: tuple[int, ...]
    sources: tuple[int, ...]
    targets: tuple[int, ...]


def micro_batches(samples: Sequence[Sample], *, max_tokens: int) -> Iterator[list[Sample]]:
    """Split `samples` so that no tree exceeds `max_tokens`, except for a single sample that does so alone.

    Samples that share a prefix come to lie together.
    """
    group: list[Sample] = []
    size = 0
    for sample in sorted(samples):
        added = len(sample.tokens) - (_shared(group[-1].tokens, sample.tokens) if group else 0)
        if group and size + added > max_tokens:
            yield group
            group, size, added = [], 0, len(sample.tokens)
        group.append(sample)
        size += added
    if group:
        yield group


def lay_out(samples: Sequence[Sample]) -> Tree:
    """Return the tree of `samples`."""
    tokens: list[int] = []
    parents: list[int] = []
    positions: list[int] = []
    sources: list[int] = []
    targets: list[int] = []
    path: list[int] = []
    earlier: tuple[int, ...] = ()
    for sample in sorted(samples):  # sorted, a sample shares the most with the one before it
        del path[_shared(earlier, sample.tokens) :]
        for depth in range(len(path), len(sample.tokens)):
            parents.append(path[-1] if path else -1)
            path.append(len(tokens))
            tokens.append(sample.tokens[depth])
            positions.append(depth)
        sources += path[sample.prompt_tokens - 1 : -1]
        targets += sample.tokens[sample.prompt_tokens :]
        earlier = sample.tokens
    return Tree(tuple(tokens), tuple(positions), tuple(parents), tuple(sources), tuple(targets))


def attention_mask(tree: Tree) -> torch.Tensor:
    """Return a boolean (nodes, nodes) matrix: row i is True at i and at its ancestors."""
    import torch

    mask = torch.eye(len(tree.tokens), dtype=torch.bool)
    for node, parent in enumerate(tree.parents):
        if parent >= 0:
            mask[node] |= mask[parent]
    return mask


def response_loss(causal_lm: Any, tree: Tree) -> torch.Tensor:
    """Return the summed cross-entropy of the response tokens; logits are computed for these alone.

    `causal_lm` is a transformers causal model.
    """
    import torch

    device = next(causal_lm.parameters()).device
    hidden = causal_lm.base_model(
        input_ids=torch.tensor([tree.tokens], device=device),
        position_ids=torch.tensor([tree.positions], device=device),
        attention_mask=attention_mask(tree)[None, None].to(device),
        use_cache=False,
    ).last_hidden_state[0]
    logits = causal_lm.get_output_embeddings()(hidden[torch.tensor(tree.sources, device=device)])
    return torch.nn.functional.cross_entropy(logits.float(), torch.tensor(tree.targets, device=device), reduction="sum")


def _shared(left: Sequence[int], right: Sequence[int]) -> int:
    """Return how many leading tokens are the same."""
    count = 0
    for one, other in zip(left, right, strict=False):
        if one != other:
            break
        count += 1
    return count
