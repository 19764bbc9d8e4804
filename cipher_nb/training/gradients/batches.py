"""Micro-batches as trees: every prefix that samples share is computed once.

All samples of a micro-batch become one sequence. A token that several samples have in common up to that point stands
there once; it attends to its own ancestors only, and its position is its depth. So each token sees exactly what it
would see in a sample of its own, and loss and gradients are those of the plain computation.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Sample:
    """Token ids: the first `prompt_tokens` (at least one) are given, the others are learned."""

    tokens: tuple[int, ...]
    prompt_tokens: int

    @property
    def response_tokens(self) -> int:
        return len(self.tokens) - self.prompt_tokens


@dataclass(frozen=True)
class Tree:
    """One micro-batch, its nodes in depth-first order.

    The nodes from i up to, but without, `ends[i]` are i and what descends from it. Token `targets[j]` is to be
    predicted at node `sources[j]`; these follow the samples in sorted order, each sample's response in one piece.
    """

    tokens: tuple[int, ...]
    positions: tuple[int, ...]
    ends: tuple[int, ...]
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
    tokens, positions, ends = list[int](), list[int](), list[int]()
    sources, targets = list[int](), list[int]()
    path: list[int] = []
    earlier: tuple[int, ...] = ()
    for sample in sorted(samples):  # sorted, a sample shares the most with the one before it
        shared = _shared(earlier, sample.tokens)
        _close(path[shared:], ends, at=len(tokens))
        path[shared:] = range(len(tokens), len(tokens) + len(sample.tokens) - shared)
        tokens += sample.tokens[shared:]
        positions += range(shared, len(sample.tokens))
        ends += [0] * (len(sample.tokens) - shared)
        sources += path[sample.prompt_tokens - 1 : -1]
        targets += sample.tokens[sample.prompt_tokens :]
        earlier = sample.tokens
    _close(path, ends, at=len(tokens))
    return Tree(tuple(tokens), tuple(positions), tuple(ends), tuple(sources), tuple(targets))


def _close(nodes: Sequence[int], ends: list[int], *, at: int) -> None:
    for node in nodes:
        ends[node] = at


def _shared(left: Sequence[int], right: Sequence[int]) -> int:
    """Return how many leading tokens are the same."""
    count = 0
    for one, other in zip(left, right, strict=False):
        if one != other:
            break
        count += 1
    return count
