"""What a swap takes: p50, p90, p99 and the most over many, idle and while other requests are answered.

    python tests/bench/bench_swap.py [--swaps 1000] [--streams 2] [--loaded-swaps N]

The server is the served engine's (4 slots, two adapters loaded) with the embedded model, or the GGUF that
CIPHER_NB_TEST_GGUF names. Each swap goes to the next of base, A, base, B, A, B. Measured is the change itself (set the
scales, read them back, erase the free slots), each of its steps, the bare POST alone, and the canary by itself. Under
load the streams ask one long answer after the other; every step then waits for the batch that is being computed.
The goal is a p99 of the change under 20 ms, idle.
"""

from __future__ import annotations

import argparse
import itertools
import os
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from cipher_nb.config import EngineSettings
from cipher_nb.engine import swap
from cipher_nb.engine.client import Client
from cipher_nb.engine.models import fetch_model
from cipher_nb.engine.server import ServeSpec, serving
from cipher_nb.paths import user_cache
from tests.adapter_files import write_adapter

ROUND = ("base", "a", "base", "b", "a", "b")
GOAL_MS = 20.0
SYSTEM = {"role": "system", "content": "You are a careful coding assistant. Answer briefly."}
QUESTION = ({**SYSTEM}, {"role": "user", "content": "Name the capital of France."})
STORY = ({**SYSTEM}, {"role": "user", "content": "Tell me a long story about a dog and a cat."})


def timed(action: Callable[[], object]) -> float:
    started = time.perf_counter()
    action()
    return (time.perf_counter() - started) * 1e3


def steps(client: Client, adapter: str) -> dict[str, float]:
    """Time one change step by step, as `swap.change` does them."""
    loaded = client.adapters()
    scales = {each.number: float(each.name == adapter) for each in loaded}
    found = {"read what is loaded": timed(client.adapters)}
    found["set the scales (the bare POST)"] = timed(lambda: client.set_scales(scales))
    found["read them back"] = timed(client.adapters)
    slots = client.slots()
    found["list the slots"] = timed(client.slots)
    free = [slot.number for slot in slots if not slot.busy]
    found[f"erase the free slots (of {len(slots)})"] = timed(lambda: [client.erase_slot(slot) for slot in free])
    return found


def show(name: str, values: Sequence[float]) -> float:
    ranked = sorted(values)
    centiles = statistics.quantiles(ranked, n=100, method="inclusive") if len(ranked) > 1 else ranked * 99
    cells = "".join(f"{value:>10.2f}" for value in (centiles[49], centiles[89], centiles[98], ranked[-1]))
    print(f"  {name:<36}{cells}   ({len(ranked)})")
    return centiles[98]


def table(client: Client, title: str, swaps: int, canary: swap.Canary) -> float:
    print(f"\n{title:<38}{'p50':>10}{'p90':>10}{'p99':>10}{'max':>10}   ms")
    targets = list(itertools.islice(itertools.cycle(ROUND), swaps))
    goal = show("the change: set, read back, erase", [swap.change(client, adapter).change_ms for adapter in targets])
    parts: dict[str, list[float]] = {}
    for adapter in targets[: max(6, swaps // 5)]:
        for name, value in steps(client, adapter).items():
            parts.setdefault(name, []).append(value)
    for name, values in parts.items():
        show(f"  {name}", values)
    asked = []
    for adapter in targets[: max(6, swaps // 20)]:
        swap.serve(client, adapter)
        asked.append(timed(lambda adapter=adapter: swap.ask(client, adapter, canary)))
    show("the canary, 16 tokens", asked)
    return goal


@contextmanager
def loaded(client: Client, streams: int) -> Iterator[None]:
    """Keep `streams` long answers going for the length of a `with` block, each by what the server applies then."""
    done = threading.Event()

    def ask() -> None:
        with Client(client.url, api_key=client.api_key) as asker:
            while not done.is_set():
                swap.follow(asker)
                asker.chat(STORY, max_tokens=64, on_text=lambda _: None)

    threads = [threading.Thread(target=ask) for _ in range(streams)]
    for thread in threads:
        thread.start()
    time.sleep(0.5)
    try:
        yield
    finally:
        done.set()
        for thread in threads:
            thread.join()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--swaps", type=int, default=1000)
    parser.add_argument("--loaded-swaps", type=int, default=0, help="under load; 0: as many as --swaps")
    parser.add_argument("--streams", type=int, default=2)
    options = parser.parse_args()
    named = os.environ.get("CIPHER_NB_TEST_GGUF")
    gguf = Path(named) if named else fetch_model("smollm2-135m", cache=user_cache())
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = tuple(write_adapter(folder / f"{each}.gguf", name=each, seed=seed) for seed, each in enumerate("ab"))
        spec = ServeSpec(gguf, "bench", files, EngineSettings(), folder / "slots", folder / "engine.log")
        with serving(spec) as client:
            canary = swap.record(client, ["base", "a", "b"], [QUESTION], max_tokens=16)
            idle = table(client, f"idle, {options.swaps} swaps", options.swaps, canary)
            swaps = options.loaded_swaps or options.swaps
            with loaded(client, options.streams):
                table(client, f"beside {options.streams} streams, {swaps} swaps", swaps, canary)
    verdict = "met" if idle < GOAL_MS else "MISSED"
    print(f"\n  p99 of the change, idle: {idle:.2f} ms; the goal of {GOAL_MS:g} ms is {verdict}")


if __name__ == "__main__":
    main()
