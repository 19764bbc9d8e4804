"""Drift: how far a model's words have moved away from another's, on a fixed text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

STRIDE = 3
"""Every third token is weighed: a request each."""
TOP = 100


class Words(Protocol):
    """What a model thinks of raw text. Implemented by `engine.client.Client`."""

    def tokenize(self, text: str) -> list[int]: ...

    def token_logprobs(self, prompt: Sequence[int], *, top: int) -> Mapping[int, float]:
        """Return the `top` likeliest next tokens after `prompt` with their natural-log probabilities."""
        ...


def surprisals(model: Words, text: str = "") -> list[float]:
    """Return how surprised `model` is by every third token of `text`, in nats; by default of a text of our own.

    A token that is not among the 100 likeliest counts as the last of them. Costs a request of a few new tokens each,
    about 100 for the text of our own. Raises EngineError when no answer could be had.
    """
    tokens = model.tokenize(text or TEXT)
    return [_surprisal(model, tokens, place) for place in range(STRIDE, len(tokens), STRIDE)]


def drift(before: Sequence[float], after: Sequence[float]) -> float:
    """Return by how many nats a token the second model is more surprised than the first, on the same text."""
    return sum(now - was for was, now in zip(before, after, strict=True)) / len(before)


def _surprisal(model: Words, tokens: Sequence[int], place: int) -> float:
    likely = model.token_logprobs(tokens[:place], top=TOP)
    return -likely.get(tokens[place], min(likely.values()))


TEXT = '''\
A good commit does one thing and says why. Before you change a function, read the tests that call it; after you have
changed it, run them again. If a test fails, do not make it pass by weakening what it asks: find out first whether the
code or the test is wrong. Names matter more than comments, because a name is read every time and a comment is not.

def moving_average(values, size):
    """Return the mean of every `size` values in a row."""
    if size < 1:
        raise ValueError(f"size is {size}; it must be at least 1")
    total = sum(values[:size])
    means = [total / size]
    for old, new in zip(values, values[size:]):
        total += new - old
        means.append(total / size)
    return means

The road to the harbour was closed in the winter, so the baker took her flour by boat. On Monday the wind came from the
north and nobody sailed. On Tuesday it turned, the sea went down, and by noon three boats lay at the pier. She paid the
skipper, counted the sacks twice, and wrote the number into her book, for she had learned that what is not written down
is soon a matter of opinion.
'''
