"""How many small real tasks a model solves in the sandbox, by attempt, and how long a task takes.

    python tests/bench/bench_tasks.py [--tasks 24]

Each task is proposed by the embedded model, or by the GGUF that CIPHER_NB_TEST_GGUF names, with up to three attempts:
a copy, the project's own pytest as the check, and feedback in between. Four tasks run at once, one in each slot.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from small_tasks import CHECK, TASKS, SmallTask

from cipher_nb.bus import Bus
from cipher_nb.config import EngineSettings, SandboxSettings, ScaffoldSettings
from cipher_nb.engine.client import Client
from cipher_nb.engine.models import fetch_model
from cipher_nb.engine.server import ServeSpec, serving
from cipher_nb.paths import Paths, user_cache
from cipher_nb.tasks import Task, Tasks
from cipher_nb.transcripts import Transcripts

AT_ONCE = EngineSettings().slots


@contextmanager
def served(folder: Path) -> Iterator[Client]:
    named = os.environ.get("CIPHER_NB_TEST_GGUF")
    gguf = Path(named) if named else fetch_model("smollm2-135m", cache=user_cache())
    spec = ServeSpec(gguf, "bench", (), EngineSettings(), folder / "slots", folder / "engine.log")
    with serving(spec) as client:
        yield client


@dataclass(frozen=True)
class Tried:
    task: Task
    seconds: float


def propose(small: SmallTask, *, root: Path, client: Client) -> Tried:
    root.mkdir()
    small.write(root)
    paths = Paths(root)
    tasks = Tasks(paths, settings=SandboxSettings(), bus=Bus(paths.bus), transcripts=Transcripts(paths.transcripts))
    started = time.perf_counter()
    task = tasks.propose(
        small.intent,
        model=client,
        scaffold=ScaffoldSettings().doctrine,
        checks=[CHECK],
        files=small.shown(),
    )
    return Tried(task, time.perf_counter() - started)


def run(chosen: Sequence[SmallTask]) -> list[Tried]:
    found = []
    with tempfile.TemporaryDirectory() as name, served(Path(name)) as client, ThreadPoolExecutor(AT_ONCE) as pool:
        roots = [Path(name) / f"task{number}" for number in range(len(chosen))]
        running = {
            pool.submit(propose, small, root=root, client=client): small
            for small, root in zip(chosen, roots, strict=True)
        }
        for ended in as_completed(running):
            tried = ended.result()
            how = f"passed at attempt {tried.task.attempts}" if tried.task.verified else _why_not(tried.task)
            print(f"{running[ended].name:20} {tried.seconds:5.1f} s  {how}", flush=True)
            found.append(tried)
    return found


def _why_not(task: Task) -> str:
    return f"not after {task.attempts}: {task.reason}"[:100]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=len(TASKS))
    started = time.perf_counter()
    found = run(TASKS[: parser.parse_args().tasks])
    seconds = time.perf_counter() - started
    for attempt in (1, 2, 3):
        passed = sum(tried.task.verified and tried.task.attempts <= attempt for tried in found)
        print(f"passed by attempt {attempt}: {passed} of {len(found)} ({passed / len(found):.0%})")
    alone = statistics.median(tried.seconds for tried in found)
    print(f"{alone:.1f} s a task (median, {AT_ONCE} at once), {seconds:.0f} s in all")


if __name__ == "__main__":
    main()
