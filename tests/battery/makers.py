"""Small real things the battery's tests are made of: rows, results, and a model with a script."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from cipher_nb.battery.results import Header, Results, Row
from cipher_nb.battery.samples import Sample, sample_id
from cipher_nb.testing import ScriptedModel


def header(
    adapter: str = "base", *, base: str = "b", engine: str = "e", settings: dict[str, Any] | None = None
) -> Header:
    return Header.of(base=base, adapter=adapter, battery_version="v1", engine=engine, settings=settings or {})


def results(scores: Mapping[str, Sequence[float | None]], *, head: Header | None = None) -> Results:
    rows = [
        Row(f"{category}-{index}", category, "f", score, "")
        for category, column in scores.items()
        for index, score in enumerate(column)
    ]
    return Results(head, tuple(rows))


def ones(right: int, count: int) -> list[float]:
    return [1.0] * right + [0.0] * (count - right)


def sample(text: str, *, target: str = "yes", choices: tuple[str, ...] = ()) -> Sample:
    messages = ({"role": "system", "content": "s"}, {"role": "user", "content": text})
    return Sample(
        id=sample_id("c", messages, target=target, choices=choices),
        category="c",
        family="f",
        side="sealed",
        messages=messages,
        target=target,
        scorer="choice" if choices else "normalised",
        choices=choices,
    )


def scripted(answer: Callable[[str], str], *, logprobs: Mapping[str, float] | None = None) -> ScriptedModel:
    """A model whose answer is a function of the question."""
    return ScriptedModel(lambda messages: answer(messages[-1]["content"]), logprobs=logprobs)
