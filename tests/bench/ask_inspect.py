"""Ask a server the questions of bench_battery.py with inspect_ai; run by the Python that has it.

python ask_inspect.py QUESTIONS.json      prints {"seconds": …, "answers": […]} as its last line
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import inspect_ai
from inspect_ai import Task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessageAssistant, ChatMessageSystem, ChatMessageUser
from inspect_ai.scorer import choice, exact
from inspect_ai.solver import Generate, Solver, TaskState, multiple_choice, solver

ROLES = {"system": ChatMessageSystem, "user": ChatMessageUser, "assistant": ChatMessageAssistant}


@solver
def answer() -> Solver:
    async def solve(state: TaskState, generate: Generate) -> TaskState:
        return await generate(state, max_tokens=state.metadata["max_tokens"])

    return solve


def task(questions: list[dict[str, Any]]) -> Task:
    chosen = bool(questions[0]["choices"])
    samples = [
        Sample(
            input=[ROLES[message["role"]](content=message["content"]) for message in each["messages"]],
            target="ABCDEFGHIJKLMNOPQRSTUVWXYZ"[each["choices"].index(each["target"])] if chosen else each["target"],
            choices=each["choices"] or None,
            id=number,
            metadata={"max_tokens": each["max_tokens"]},
        )
        for number, each in enumerate(questions)
    ]
    return Task(
        dataset=MemoryDataset(samples),
        solver=multiple_choice(max_tokens=16) if chosen else answer(),
        scorer=choice() if chosen else exact(),
    )


def ask(questions: list[dict[str, Any]], *, in_flight: int) -> tuple[float, list[str]]:
    with tempfile.TemporaryDirectory() as logs:
        started = time.perf_counter()
        (log,) = inspect_ai.eval(
            task(questions),
            model="openai-api/llama/m",
            display="none",
            log_dir=logs,
            max_connections=in_flight,
            max_samples=in_flight,
            temperature=0.0,
            seed=0,
        )
        seconds = time.perf_counter() - started
        assert log.status == "success", log.error
        samples = sorted(log.samples or [], key=lambda sample: int(sample.id))
        return seconds, [sample.output.completion for sample in samples]


def main() -> None:
    told = json.loads(Path(sys.argv[1]).read_text())
    os.environ["LLAMA_BASE_URL"], os.environ["LLAMA_API_KEY"] = f"{told['url']}/v1", told["key"]
    ask(told["questions"][:1], in_flight=1)
    seconds, answers = ask(told["questions"], in_flight=told["in_flight"])
    print(json.dumps({"seconds": seconds, "answers": answers}))


if __name__ == "__main__":
    main()
