"""Ways to ask for a list: what meets a condition, and what order things have."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from itertools import pairwise

from cipher_nb.battery.samples import Side

NAMES = {
    "practice": (
        *("api", "blog", "cache", "docs", "etl", "forum", "gateway", "hooks"),
        *("index", "jobs", "login", "mail", "news", "orders", "proxy"),
    ),
    "sealed": (
        *("audit", "bridge", "cron", "dashboard", "exporter", "feed", "grid", "history"),
        *("importer", "kiosk", "ledger", "metrics", "notify", "portal", "queue"),
    ),
}
SUFFIXES = {"practice": ("py", "md", "js", "sh"), "sealed": ("rs", "txt", "go", "css")}
STATES = {"practice": ("failed", "passed"), "sealed": ("broken", "fine")}
Asked = tuple[str, list[str]]
"""A question and the items that answer it, in their order."""


def _all(rng: random.Random, side: Side) -> Asked:
    names = rng.sample(NAMES[side], rng.choice((2, 3, 4)))
    text = {"practice": "{}. Name them all.", "sealed": "List everything: {}"}[side]
    return text.format(", ".join(names)), names


def _suffix(rng: random.Random, side: Side) -> Asked:
    wanted, *others = rng.sample(SUFFIXES[side], 3)
    names = rng.sample(NAMES[side], rng.choice((3, 4, 5)))
    endings = _mixed(rng, wanted, others, size=len(names))
    files = [f"{name}.{ending}" for name, ending in zip(names, endings, strict=True)]
    text = {"practice": "{}. Which are .{} files?", "sealed": "From {} take the .{} files."}[side]
    return text.format(", ".join(files), wanted), [file for file in files if file.endswith(f".{wanted}")]


def _state(rng: random.Random, side: Side) -> Asked:
    bad, good = STATES[side]
    names = rng.sample(NAMES[side], rng.choice((3, 4, 5)))
    states = _mixed(rng, bad, [good], size=len(names))
    found = ", ".join(f"{name} {state}" for name, state in zip(names, states, strict=True))
    text = {"practice": f"{found}. Which {bad}?", "sealed": f"List the {bad} ones: {found}"}[side]
    return text, [name for name, state in zip(names, states, strict=True) if state == bad]


def _over(rng: random.Random, side: Side) -> Asked:
    size = rng.choice((3, 4, 5))
    names, numbers = rng.sample(NAMES[side], size), rng.sample(range(2, 60), size)
    limit = rng.choice([min(numbers) - 1, *sorted(numbers)[:-1]])
    found = ", ".join(f"{name} {number}" for name, number in zip(names, numbers, strict=True))
    text = {"practice": f"{found}. Which are above {limit}?", "sealed": f"List what exceeds {limit}: {found}"}[side]
    return text, [name for name, number in zip(names, numbers, strict=True) if number > limit]


def _state_and_over(rng: random.Random, side: Side) -> Asked:
    bad, good = STATES[side]
    names, numbers = rng.sample(NAMES[side], 5), rng.sample(range(2, 60), 5)
    states = _mixed(rng, bad, [good], size=5, least=2)
    limit = rng.choice(sorted(number for number, state in zip(numbers, states, strict=True) if state == bad)[:-1])
    rows = list(zip(names, states, numbers, strict=True))
    found = ", ".join(f"{name} {state} {number}" for name, state, number in rows)
    text = {
        "practice": f"{found}. Which {bad} and are above {limit}?",
        "sealed": f"List what is {bad} and exceeds {limit}: {found}",
    }[side]
    return text, [name for name, state, number in rows if state == bad and number > limit]


def _difference(rng: random.Random, side: Side) -> Asked:
    wanted = rng.sample(NAMES[side], rng.choice((2, 3, 4)))
    found = rng.sample(wanted, rng.randint(1, len(wanted) - 1))
    text = {"practice": "Planned: {}. Done: {}. Still to do?", "sealed": "Branches: {}. Merged: {}. List the unmerged."}
    return text[side].format(", ".join(wanted), ", ".join(found)), [name for name in wanted if name not in found]


def _mixed(rng: random.Random, wanted: str, others: Sequence[str], *, size: int, least: int = 1) -> list[str]:
    times = rng.randint(least, size)
    return rng.sample([wanted] * times + rng.choices(others, k=size - times), size)


def _by_letter(rng: random.Random, side: Side) -> Asked:
    names = rng.sample(NAMES[side], rng.choice((3, 3, 4)))
    if rng.random() < 0.5:
        names.sort()
    text = {"practice": "{}. Alphabetical order?", "sealed": "Sort from A to Z: {}"}[side]
    return text.format(", ".join(names)), sorted(names)


def _by_time(rng: random.Random, side: Side) -> Asked:
    names = rng.sample(NAMES[side], rng.choice((3, 3, 4)))
    text = {"practice": "{}. What is the order?", "sealed": "List by start: {}"}[side]
    return text.format(", then ".join(names)), names


def _by_number(rng: random.Random, side: Side) -> Asked:
    size = rng.choice((3, 3, 4))
    ranked = dict(zip(rng.sample(range(2, 99), size), rng.sample(NAMES[side], size), strict=True))
    rising = rng.random() < 0.5
    text = {
        "practice": "{}. Smallest first?" if rising else "{}. Biggest first?",
        "sealed": "Sort by rising number: {}" if rising else "Sort by falling number: {}",
    }[side]
    found = ", ".join(f"{name} {number}" for number, name in ranked.items())
    return text.format(found), [ranked[number] for number in sorted(ranked, reverse=not rising)]


def _by_need(rng: random.Random, side: Side) -> Asked:
    names = rng.sample(NAMES[side], rng.choice((3, 3, 4)))
    pairs = list(pairwise(names))
    rule, text = {
        "practice": ("{1} needs {0}", "{}. In which order to start them?"),
        "sealed": ("build {0} before {1}", "Sort by these rules: {}"),
    }[side]
    return text.format("; ".join(rule.format(*pair) for pair in rng.sample(pairs, len(pairs)))), names


SELECT: tuple[Callable[[random.Random, Side], Asked], ...] = (
    _all,
    _suffix,
    _state,
    _over,
    _state_and_over,
    _difference,
)
ORDER: tuple[Callable[[random.Random, Side], Asked], ...] = (_by_letter, _by_time, _by_number, _by_need)
