"""What the chat path adds to an answer, beside the engine's own time to its first token.

    python tests/bench/bench_chat.py [--events 1000000] [--calls 500]

A workspace whose bus has so many events and whose transcripts have 20,000 turns. Before every call somebody approves
something, so the learned lines have to look again. Measured is everything but the engine: learned lines, composition,
the history of a task with 20 turns, and the record of the turn. The engine is the embedded model, or the GGUF that
CIPHER_NB_TEST_GGUF names, answering the same system text.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

from bench_bus import write_log

from cipher_nb.chat import ask
from cipher_nb.config import EngineSettings
from cipher_nb.engine.models import fetch_model
from cipher_nb.engine.server import ServeSpec, serving
from cipher_nb.model import Message, Reply
from cipher_nb.paths import user_cache
from cipher_nb.records import Turn, new_id, utc_now
from cipher_nb.workspace import Workspace


class Timed:
    """A model that takes no time, and notes when it was asked and when it had answered."""

    def __init__(self) -> None:
        self.spent = 0.0

    def chat(self, messages: Sequence[Message], **_: object) -> Reply:
        started = time.perf_counter()
        reply = Reply("It reads the list with pathlib, sorts it by title and prints one title a line. " * 5)
        self.spent += time.perf_counter() - started
        return reply


def sample(folder: Path, events: int) -> tuple[Workspace, str]:
    ws = Workspace.init(folder)
    write_log(ws.paths.bus, events)
    task = new_id(utc_now())
    for number in range(20_000):
        mine = number >= 19_980
        now = utc_now() - timedelta(seconds=0 if mine else 20_000 - number)
        messages = ({"role": "system", "content": "s" * 500}, {"role": "user", "content": f"question {number} " * 9})
        name = new_id(now)
        ws.transcripts.append(Turn(name, now, task if mine else name, "chat", messages, "answer " * 60))
    return ws, task


def overheads(ws: Workspace, calls: int, task: str | None) -> list[float]:
    model, found = Timed(), []
    for number in range(calls):
        ws.bus.append("approval", tool="edit", pattern=f"Pattern number {number % 200}", summary="x")
        model.spent = 0.0
        started = time.perf_counter()
        ask("what does main() do?", model=model, scaffold=ws.scaffold(), transcripts=ws.transcripts, task=task)  # type: ignore[arg-type]
        found.append((time.perf_counter() - started - model.spent) * 1e3)
    return found


def first_tokens(ws: Workspace, folder: Path, calls: int) -> list[float]:
    named = os.environ.get("CIPHER_NB_TEST_GGUF")
    gguf = Path(named) if named else fetch_model("smollm2-135m", cache=user_cache())
    spec = ServeSpec(gguf, "bench", (), EngineSettings(), folder / "slots", folder / "engine.log")
    found = []
    with serving(spec) as client:
        for number in range(calls):
            heard: list[float] = []
            messages = (
                {"role": "system", "content": ws.scaffold().text},
                {"role": "user", "content": f"what does function {number} of main.py do?"},
            )
            started = time.perf_counter()
            client.chat(messages, max_tokens=4, on_text=lambda _, heard=heard: heard.append(time.perf_counter()))
            found.append((heard[0] - started) * 1e3)
    return found


def show(name: str, values: list[float]) -> float:
    centiles = statistics.quantiles(values, n=100)
    print(f"  {name:<34}p50 {centiles[49]:>9.3f} ms   p99 {centiles[98]:>9.3f} ms   ({len(values)} calls)")
    return centiles[98]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--calls", type=int, default=500)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        ws, task = sample(Path(folder) / "ws", options.events)
        started = time.perf_counter()
        ws.scaffold()
        print(f"\n{options.events:,} events, 20,000 turns; first look {(time.perf_counter() - started) * 1e3:.1f} ms")
        show("overhead, task with 20 turns", overheads(ws, options.calls, task))
        worst = show("overhead, new task", overheads(ws, options.calls, None))
        show(f"overhead, task {options.calls:,} turns ago", overheads(ws, 2, task))
        engine = first_tokens(ws, Path(folder), max(20, options.calls // 10))
        show("engine's time to first token", engine)
        print(f"  p99 of the overhead is {worst / statistics.median(engine):.2%} of the engine's median")


if __name__ == "__main__":
    main()
