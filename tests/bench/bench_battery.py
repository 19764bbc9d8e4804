"""The battery against its peers: the same questions, asked of the same llama.cpp server in one run.

    python tests/bench/bench_battery.py --inspect PYTHON [--lm-eval PYTHON] [--questions 64] [--rounds 3]

PYTHON is the interpreter of an environment of its own that has inspect_ai and openai, or lm_eval[api]. Each round has
questions of its own, as many with generated answers as choices, 16 of each family drawn (a night has more), and every
asker takes its turn first. Slots are erased before each turn. Asked are: the peers, as many requests in flight as the
server has slots; ours on that very server; and ours as a night asks, on servers of one slot that share the same threads
(see engine/steady.py). Nothing is timed but the asking: no start, no import, and one question each to warm up.

A peer generates a letter for a choice, ours reads one next-token probability. A night asks two sides; the production
side of ours is on record as a rule, so the last line compares two sides of the peer with one of ours.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from cipher_nb.battery.families import FAMILIES
from cipher_nb.battery.results import Header
from cipher_nb.battery.runner import run
from cipher_nb.battery.samples import Sample
from cipher_nb.config import EngineSettings
from cipher_nb.engine.client import Client
from cipher_nb.engine.models import fetch_model
from cipher_nb.engine.server import ServeSpec, serving
from cipher_nb.engine.steady import SteadyServers, steady_serving
from cipher_nb.paths import user_cache

SLOTS = 4
PER_FAMILY = 16
HERE = Path(__file__).parent


@dataclass(frozen=True)
class Asked:
    """What one turn took, and the answers in the order of the questions."""

    seconds: float
    answers: list[str]


Ask = Callable[[Sequence[Sample]], Asked]


def questions(count: int, seed: int) -> tuple[list[Sample], list[Sample]]:
    """Return `count` samples with a generated answer and as many choices, `PER_FAMILY` of each family drawn."""
    families = [(category, family) for category, members in FAMILIES.items() for family in members]
    generated: list[Sample] = []
    chosen: list[Sample] = []
    for category, family in random.Random(seed).sample(families, len(families)):
        kind = chosen if family.scorer == "choice" else generated
        if family.scorer != "code" and len(kind) < count:
            kind += family.samples(category, min(PER_FAMILY, count - len(kind)), side="sealed", seed=seed)
    return generated, chosen


def ours(model: Client | SteadyServers, *, workers: int) -> Ask:
    def ask(samples: Sequence[Sample]) -> Asked:
        with tempfile.TemporaryDirectory() as folder:
            header = Header.of(base="b", adapter="base", battery_version="v", engine="e")
            run(samples[:1], model=model, path=Path(folder) / "warm.jsonl", header=header)
            started = time.perf_counter()
            found = run(samples, model=model, path=Path(folder) / "r.jsonl", header=header, workers=workers)
            return Asked(time.perf_counter() - started, [row.answer for row in found.rows])

    return ask


def peer(python: str, script: str, client: Client) -> Ask:
    def ask(samples: Sequence[Sample]) -> Asked:
        told = {
            "url": client.url,
            "key": client.api_key,
            "in_flight": SLOTS,
            "questions": [
                {
                    "messages": [dict(message) for message in sample.messages],
                    "max_tokens": sample.max_tokens,
                    "target": sample.target,
                    "choices": list(sample.choices),
                }
                for sample in samples
            ],
        }
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "questions.json"
            path.write_text(json.dumps(told))
            done = subprocess.run(
                [python, HERE / script, path], cwd=folder, capture_output=True, text=True, check=False
            )
        if done.returncode:
            raise SystemExit(f"{script} ended with {done.returncode}:\n{done.stderr[-3000:]}")
        return Asked(**json.loads(done.stdout.splitlines()[-1]))

    return ask


def measure(
    askers: dict[str, Ask], *, count: int, rounds: int, erase: Callable[[], int], kind: int
) -> dict[str, float]:
    """Return each asker's median seconds a question, and print how often it answered as the first one did."""
    spent: dict[str, list[float]] = {name: [] for name in askers}
    same: dict[str, int] = dict.fromkeys(askers, 0)
    for number in range(rounds):
        samples = questions(count, seed=1000 + number)[kind]
        names = list(askers)
        answers = {}
        for name in names[number % len(names) :] + names[: number % len(names)]:
            erase()
            asked = askers[name](samples)
            spent[name].append(asked.seconds / len(samples))
            answers[name] = asked.answers
        for name in askers:
            same[name] += sum(map(str.__eq__, map(str.strip, answers[name]), map(str.strip, answers[names[0]])))
    first = statistics.median(spent[next(iter(askers))])
    for name, times in spent.items():
        middle = statistics.median(times)
        print(
            f"  {name:<34}{1 / middle:>7.2f} /s   {first / middle:>5.2f} x   "
            f"{min(times) * 1e3:>6.0f} … {max(times) * 1e3:<6.0f} ms"
            + (f"   same answer {same[name]}/{rounds * count}" if kind == 0 else "")
        )
    return {name: statistics.median(times) for name, times in spent.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inspect", required=True, metavar="PYTHON")
    parser.add_argument("--lm-eval", metavar="PYTHON")
    parser.add_argument("--questions", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    named = os.environ.get("CIPHER_NB_TEST_GGUF")
    gguf = Path(named) if named else fetch_model("smollm2-135m", cache=user_cache())
    settings = EngineSettings(slots=SLOTS)
    with tempfile.TemporaryDirectory() as folder:
        spec = ServeSpec(gguf, "m", (), settings, Path(folder) / "slots", Path(folder) / "engine.log")
        with serving(spec) as client, steady_serving(spec) as steady:
            inspect = {"inspect_ai": peer(options.inspect, "ask_inspect.py", client)}
            mine = {
                "ours, same server": ours(client, workers=SLOTS),
                f"ours, {steady.workers} steady servers": ours(steady, workers=steady.workers),
            }
            harness = {"lm-eval-harness": peer(options.lm_eval, "ask_lm_eval.py", client)} if options.lm_eval else {}
            print(f"load {os.getloadavg()[0]:.1f}; {options.rounds} rounds of {options.questions} questions each")
            spent: dict[str, float] = {}
            for title, kind, askers in (
                ("generated answers", 0, inspect | harness | mine),
                ("choices", 1, inspect | mine),
            ):
                print(f"{title}:")
                found = measure(
                    askers, count=options.questions, rounds=options.rounds, erase=client.erase_slots, kind=kind
                )
                spent = {name: spent.get(name, 0.0) + found[name] for name in found}
    print("a night, half of each, our production on record:")
    for name in mine:
        print(f"  {name:<34}{2 * spent['inspect_ai'] / spent[name]:>5.2f} x inspect_ai")
    print(f"load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
