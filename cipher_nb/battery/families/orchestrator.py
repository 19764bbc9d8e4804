"""orchestrator: tasks in the order of what they need, workers by the told rule, and one job at a time on a device."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping

from cipher_nb.battery.family import Family, Question, rounds, vocabulary
from cipher_nb.battery.samples import Side

CATEGORY = "orchestrator"

Needs = Mapping[str, frozenset[str]]
"""What each task waits for."""

TASKS = vocabulary(
    practice="build lint docs pack train sync index scan merge deploy audit report",
    sealed="fetch format compile bundle export stage verify publish migrate review seed notify",
)
DONE = {"practice": "Done: {}. What is next?", "sealed": "Finished: {}. Start now:"}


def ready(rng: random.Random, side: Side) -> Iterator[Question]:
    for size in rounds((2, 2, 3, 4), rng):
        while True:
            needs = _graph(rng, side, size, density=0.5)
            done = _begun(rng, needs)
            able = [task for task in needs if task not in done and needs[task] <= done]
            if len(able) == 1 and len(done) < size - 1:
                break
        told = DONE[side].format(", ".join(task for task in needs if task in done) or "nothing")
        yield Question(f"{_told(needs)}\n{told}", able[0])


def order(rng: random.Random, side: Side) -> Iterator[Question]:
    for size in rounds((2, 3, 3, 4), rng):
        while True:
            needs = _graph(rng, side, size, density=0.7)
            found = waves(needs)
            if len(found) == size:
                break
        names = [name for wave in found for name in wave]
        pairs = [f"{first} before {then}" for then in names for first in names if first in needs[then]]
        told = "\n".join(rng.choice((pairs, rng.sample(pairs, len(pairs)))))
        yield Question(told, r"\W+".join(names), reference=", ".join(names))


def count(rng: random.Random, side: Side) -> Iterator[Question]:
    for size, wanted in rounds(((3, 1), (3, 2), (4, 2), (4, 3), (5, 3), (4, 4), (5, 4)), rng):
        while True:
            needs = _graph(rng, side, size, density=0.4 if wanted < 4 else 0.7)
            if len(waves(needs)) == wanted:
                break
        yield Question(_told(needs), str(wanted))


def waves(needs: Needs) -> list[list[str]]:
    """Return the tasks in waves: each task as soon as all it waits for is done."""
    found: list[list[str]] = []
    done: set[str] = set()
    while len(done) < len(needs):
        found.append([task for task in needs if task not in done and needs[task] <= done])
        done.update(found[-1])
    return found


def _graph(rng: random.Random, side: Side, size: int, *, density: float) -> Needs:
    """Return tasks in a random telling order; each may wait for any that come before it in a hidden one."""
    hidden = rng.sample(TASKS[side], size)
    needs = {
        task: frozenset(other for other in hidden[:place] if rng.random() < density)
        for place, task in enumerate(hidden)
    }
    return {task: needs[task] for task in rng.sample(hidden, size)}


def _begun(rng: random.Random, needs: Needs) -> frozenset[str]:
    done: frozenset[str] = frozenset()
    for _ in range(rng.randrange(len(needs) - 1)):
        done |= {rng.choice([task for task in needs if task not in done and needs[task] <= done])}
    return done


def _told(needs: Needs) -> str:
    return "\n".join(f"{task} needs {', '.join(sorted(needs[task])) or 'nothing'}" for task in needs)


WORKERS = vocabulary(practice="ash birch cedar elm oak willow", sealed="amber basalt coral flint jade quartz")
DEVICES = {"practice": ("gpu", "cpu"), "sealed": ("cuda", "host")}
STATES = {"practice": ("idle", "busy"), "sealed": ("free", "taken")}
WORKER = "{}: {}, {}, queue {}"
JOB = {"practice": "{} needs a {}.", "sealed": "Who runs {} on {}?"}


def assign(rng: random.Random, side: Side) -> Iterator[Question]:
    """Ask for the free worker with the wanted device and the shortest queue; each other one lacks something."""
    open_, closed = STATES[side]
    for lacks in rounds((("state", "device"), ("device", "queue"), ("state", "queue"), ("queue", "queue")), rng):
        device, other = rng.sample(DEVICES[side], 2)
        names = rng.sample(WORKERS[side], 3)
        queue = rng.randrange(1, 5)
        told = [WORKER.format(names[0], device, open_, queue)]
        for name, lack in zip(names[1:], lacks, strict=True):
            shorter = queue + rng.randrange(1, 5) if lack == "queue" else rng.randrange(queue + 1)
            state = closed if lack == "state" else open_
            told.append(WORKER.format(name, other if lack == "device" else device, state, shorter))
        rng.shuffle(told)
        job = JOB[side].format(rng.choice(TASKS[side]), device)
        yield Question("\n".join([*told, job]), names[0], tuple(sorted(names)))


DECISIONS = ("run", "wait", "take")
LOCKED: Mapping[Side, Mapping[str, tuple[str, ...]]] = {
    "practice": {
        "run": (
            "The lock is free since {1} ended. {0} wants the GPU.",
            "{1} (alive) holds the lock. {0} only needs the CPU.",
            "{0} holds the lock itself and asks again, before {1} does.",
            "{1} crashed after it gave the lock back. {0} wants the GPU.",
        ),
        "wait": (
            "{1} (alive) holds the lock. {0} wants the GPU.",
            "{0} asks for the GPU while {1} is training on it.",
            "The lock is with {1}, whose process still runs. {0} wants the GPU.",
            "{2} died yesterday. Now {1} (alive) has the lock, and {0} wants the GPU.",
        ),
        "take": (
            "{1} (dead) holds the lock. {0} wants the GPU.",
            "{0} asks for the GPU; the lock names {1}, which was killed.",
            "{1} got the lock from {2} and then crashed with it. {0} wants the GPU.",
            "{2} is alive on the CPU. {1}, now dead, holds the lock. {0} wants the GPU.",
        ),
    },
    "sealed": {
        "run": (
            "Nobody owns the lock, not even {1}. {0} requests the accelerator.",
            "Owner {1} is up. {0} does without an accelerator.",
            "Owner {0} is up and requests the accelerator once more; {1} is next.",
            "Once {1} released its lock it exited. {0} requests the accelerator.",
        ),
        "wait": (
            "Owner {1} is up. {0} requests the accelerator.",
            "While {1} computes under its lock, {0} requests the accelerator.",
            "Lock file: {1}, process up. Next comes {0} for the accelerator.",
            "{2} has exited; owner {1} is up. {0} requests the accelerator.",
        ),
        "take": (
            "Owner {1} has exited. {0} requests the accelerator.",
            "Lock file: {1}, no such process. Next comes {0} for the accelerator.",
            "{1} was killed while it owned the lock; {0} requests the accelerator.",
            "Owner {1} has exited, {2} is up on another host. {0} requests the accelerator.",
        ),
    },
}


def lock(rng: random.Random, side: Side) -> Iterator[Question]:
    for decision in rounds(DECISIONS, rng):
        text = rng.choice(LOCKED[side][decision]).format(*rng.sample(TASKS[side], 3))
        yield Question(text, decision, DECISIONS)


READY_EXAMPLES = (
    ("cook needs shop\nshop needs nothing\neat needs cook\nDone: shop. Next:", "cook"),
    ("eat needs cook\ncook needs nothing\nDone: nothing. Next:", "cook"),
    ("wash needs eat\neat needs cook, shop\nshop needs nothing\ncook needs shop\nDone: nothing. Next:", "shop"),
    ("eat needs cook\ncook needs nothing\nwash needs eat\nDone: cook. Next:", "eat"),
)
ORDER_EXAMPLES = (
    ("eat before wash\ncook before eat\nshop before cook", "shop, cook, eat, wash"),
    ("cook before eat\ncook before wash\neat before wash", "cook, eat, wash"),
    ("eat before wash", "eat, wash"),
    ("cook before eat\nshop before cook", "shop, cook, eat"),
    ("cook before shop", "cook, shop"),
)
COUNT_EXAMPLES = (
    ("cook needs shop\nshop needs nothing\neat needs cook", "3"),
    ("sing needs nothing\nshop needs nothing\nrest needs nothing", "1"),
    ("cook needs shop\nshop needs nothing\nsing needs nothing", "2"),
    ("eat needs cook\nwash needs eat\ncook needs shop\nshop needs nothing", "4"),
    ("cook needs nothing\neat needs cook\nrest needs cook", "2"),
)
ASSIGN_EXAMPLES = (
    ("red: van, off, queue 1\nblue: van, on, queue 6\ngreen: bus, on, queue 2\nA van, please", "blue"),
    ("green: bus, on, queue 2\nred: bus, on, queue 1\nblue: bus, on, queue 5\nA bus, please", "red"),
)
LOCK = (
    "One job at a time on the accelerator (GPU). A job that needs none runs at once, and so does one that finds no "
    "lock or its own. Else: wait if the lock's owner lives, take the lock over if the owner is dead."
)
LOCK_EXAMPLES = (
    ("Owner: cook, sleeping but alive. eat wants it.", "wait"),
    ("Owner: nobody. cook wants it.", "run"),
    ("Owner: cook, dead. eat wants it.", "take"),
    ("Owner: cook, alive. eat needs no GPU.", "run"),
)

FAMILIES = (
    Family(
        "ready",
        "A task can start when all it needs is done. Name the only unfinished task that can start now.",
        "normalised",
        ready,
        examples=READY_EXAMPLES,
    ),
    Family(
        "order", "List all tasks in the only possible order.", "regex", order, examples=ORDER_EXAMPLES, max_tokens=24
    ),
    Family(
        "waves",
        "Each wave runs every task whose needs earlier waves have done. How many waves are there?",
        "numeric",
        count,
        examples=COUNT_EXAMPLES,
    ),
    Family(
        "assign",
        "The job goes to the free worker with the right device and the shortest queue. Name the worker.",
        "choice",
        assign,
        examples=ASSIGN_EXAMPLES,
    ),
    Family("lock", LOCK, "choice", lock, examples=LOCK_EXAMPLES),
)
