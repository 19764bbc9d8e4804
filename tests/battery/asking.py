"""A process that asks the battery of a real server, and may end itself, as by kill -9, after so many answers.

usage: python -m tests.battery.asking GGUF FOLDER COUNT [ANSWERS]
"""

from __future__ import annotations

import os
import random
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from cipher_nb.battery.family import Family, Question
from cipher_nb.battery.runner import run
from cipher_nb.battery.samples import Sample, Side
from cipher_nb.config import EngineSettings
from cipher_nb.engine.server import ServeSpec
from cipher_nb.engine.steady import SteadyServers, steady_serving
from cipher_nb.model import Message, Reply
from tests.battery.makers import header


def sums(rng: random.Random, side: Side) -> Iterator[Question]:
    while True:
        left, right = rng.randrange(100), rng.randrange(100)
        yield Question(f"{left} + {right}", str(left + right))


def larger(rng: random.Random, side: Side) -> Iterator[Question]:
    while True:
        numbers = rng.sample(range(100), 2)
        yield Question(
            "{} or {}".format(*numbers), "first" if numbers[0] > numbers[1] else "second", ("first", "second")
        )


FAMILIES = (
    Family("sum", "Add up.", "numeric", sums, examples=(("1 + 2", "3"),), max_tokens=8),
    Family("words", "Add up, and answer in words.", "normalised", sums, examples=(("1 + 2", "three"),), max_tokens=12),
    Family("larger", "Which number is larger, the first or the second?", "choice", larger),
)


class Noting:
    """Asks `model`, and notes each question in a file first."""

    def __init__(self, model: SteadyServers, asked: Path) -> None:
        self._model = model
        self._asked = asked

    def chat(self, messages: Sequence[Message], **settings: Any) -> Reply:
        self._note(messages)
        return self._model.chat(messages, **settings)

    def next_token_logprobs(self, messages: Sequence[Message], *, top: int = 64) -> Mapping[str, float]:
        self._note(messages)
        return self._model.next_token_logprobs(messages, top=top)

    def _note(self, messages: Sequence[Message]) -> None:
        with self._asked.open("a") as file:
            file.write(f"{messages[-1]['content']!r}\n")


def samples(count: int) -> list[Sample]:
    """Return `count` samples of each of three families."""
    return [each for family in FAMILIES for each in family.samples("c", count, side="sealed", seed=5)]


def main() -> None:
    gguf, folder, count, last = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), int((*sys.argv, "0")[4])

    def die_after_the_last(done: int, total: int) -> None:
        if 0 < last == done:
            os.kill(os.getpid(), signal.SIGKILL)

    engine = EngineSettings(slots=2, context_tokens=4096)
    with steady_serving(ServeSpec(gguf, "m", (), engine, folder / "slots", folder / "engine.log")) as model:
        run(
            samples(count),
            model=Noting(model, folder / "asked.txt"),
            path=folder / "results.jsonl",
            header=header(),
            workers=model.workers,
            on_progress=die_after_the_last,
        )


if __name__ == "__main__":
    main()
