"""reasoning: listing what meets a condition, counting, ordering, finding what is missing, and two-step deductions."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator

from cipher_nb.battery.families.reasoning.lists import NAMES, ORDER, SELECT, STATES
from cipher_nb.battery.family import Family, Question, rounds
from cipher_nb.battery.samples import Side

CATEGORY = "reasoning"


def select(rng: random.Random, side: Side) -> Iterator[Question]:
    for ask in rounds(SELECT, rng):
        text, found = ask(rng, side)
        yield Question(text, json.dumps(found))


def order(rng: random.Random, side: Side) -> Iterator[Question]:
    for ask in rounds(ORDER, rng):
        text, found = ask(rng, side)
        yield Question(text, json.dumps(found))


NUMBERS = ("one", "two", "three", "four", "five")
COUNT = {
    "practice": {
        "all": "{}. How many modules?",
        "numbered": "{}. How many steps?",
        "state": "{}. How many {}?",
        "over": "{}. How many are above {}?",
    },
    "sealed": {
        "all": "Number of services: {}",
        "numbered": "Number of stages: {}",
        "state": "Number of {1} ones: {0}",
        "over": "Count what exceeds {1}: {0}",
    },
}


def count(rng: random.Random, side: Side) -> Iterator[Question]:
    cases = [(kind, many) for kind in COUNT[side] for many in range(1, 6)]
    for kind, many in rounds(cases, rng):
        bad, good = STATES[side]
        limit, others = rng.randint(20, 80), rng.randint(1, 4)
        numbers = rng.sample(range(limit + 1, 99), many) + rng.sample(range(2, limit), others)
        marks = {
            "all": ["{}"] * many,
            "numbered": [f"{place} {{}}" for place in range(1, many + 1)],
            "state": _shuffled([f"{{}} {bad}"] * many + [f"{{}} {good}"] * others, rng),
            "over": _shuffled([f"{{}} {number}" for number in numbers], rng),
        }[kind]
        names = rng.sample(NAMES[side], len(marks))
        found = ", ".join(mark.format(name) for mark, name in zip(marks, names, strict=True))
        yield Question(COUNT[side][kind].format(found, limit if kind == "over" else bad), NUMBERS[many - 1], NUMBERS)


def _shuffled(items: list[str], rng: random.Random) -> list[str]:
    return rng.sample(items, len(items))


MISSING = {
    "practice": {
        "absent": "Expected: {}. Got: {}. Missing?",
        "extra": "Allowed: {1}. Used: {0}. Not allowed?",
        "twice": "{}. Which one is there twice?",
        "gap": "{}. Which one was skipped?",
    },
    "sealed": {
        "absent": "Deployed {}; alive {}. Which is down?",
        "extra": "Known {1}; seen {0}. Which is unknown?",
        "twice": "Find the duplicate: {}",
        "gap": "Find the gap: {}",
    },
}


def missing(rng: random.Random, side: Side) -> Iterator[Question]:
    for kind in rounds(list(MISSING[side]), rng):
        names = rng.sample(NAMES[side], rng.choice((2, 3, 4)))
        odd = rng.choice(names)
        others = _shuffled([name for name in names if name != odd], rng)
        first = rng.randint(2, 90)
        series = [f"{odd}-{number}" for number in range(first, first + 6)]
        skipped = series.pop(rng.choice((2, 3, 4)))
        shown = {
            "absent": (names, others),
            "extra": (names, others),
            "twice": (_shuffled([*names, odd], rng),),
            "gap": (series,),
        }[kind]
        text = MISSING[side][kind].format(*(", ".join(items) for items in shown))
        yield Question(text, skipped if kind == "gap" else odd)


CHAIN = {
    "practice": {
        "link": ("{0} starts before {1}", "{1} starts after {0}"),
        "ends": ("Which starts first?", "Which starts last?"),
    },
    "sealed": {
        "link": ("{0} is slower than {1}", "{1} is faster than {0}"),
        "ends": ("Name the slowest.", "Name the fastest."),
    },
}
ONE_LEFT = {
    "practice": "The fault is in {0}, {1} or {2}. It is not in {3}, and {4} is fine. Where is it?",
    "sealed": "One of {0}, {1}, {2} leaks memory: not {3}, and {4} is clean too. Culprit?",
}
HOLDS = {
    "practice": {"has": "{0} uses {1}", "on": "{0} runs on {1}", "ask": "Which host does {} need?"},
    "sealed": {"has": "{0} calls {1}", "on": "{0} belongs to {1}", "ask": "Whose code does {} call?"},
}
THINGS = {
    "practice": (("web", "shop", "wiki", "chat"), ("redis", "mysql", "kafka", "nginx")),
    "sealed": (("cart", "menu", "map", "editor"), ("auth", "billing", "search", "storage")),
}


def _chain(rng: random.Random, side: Side, names: tuple[str, ...]) -> tuple[str, str]:
    ranked = rng.sample(names, 3)
    links = [rng.choice(CHAIN[side]["link"]).format(*pair) for pair in ((ranked[0], ranked[1]), (ranked[1], ranked[2]))]
    end = rng.choice((0, 1))
    return f"{', '.join(rng.sample(links, 2))}. {CHAIN[side]['ends'][end]}", ranked[-end]


def _one_left(rng: random.Random, side: Side, names: tuple[str, ...]) -> tuple[str, str]:
    answer, *others = rng.sample(names, 3)
    return ONE_LEFT[side].format(*names, *others), answer


def _two_steps(rng: random.Random, side: Side, names: tuple[str, ...]) -> tuple[str, str]:
    users, parts = (rng.sample(things, 3) for things in THINGS[side])
    words = HOLDS[side]
    facts = [words["has"].format(*pair) for pair in zip(users, parts, strict=True)]
    facts += [words["on"].format(*pair) for pair in zip(parts, names, strict=True)]
    asked = rng.randrange(3)
    return f"{', '.join(rng.sample(facts, 6))}. {words['ask'].format(users[asked])}", names[asked]


DEDUCE: tuple[Callable[[random.Random, Side, tuple[str, ...]], tuple[str, str]], ...] = (_chain, _one_left, _two_steps)


def deduce(rng: random.Random, side: Side) -> Iterator[Question]:
    for ask in rounds(DEDUCE, rng):
        names = tuple(rng.sample(NAMES[side], 3))
        yield Question(*ask(rng, side, names), names)


SELECT_EXAMPLES = (
    ("fox, bear. List both.", '["fox", "bear"]'),
    ("tea 3, milk 9, soup 8. Which are above 7?", '["milk", "soup"]'),
    ("Needed: pen, ink. Here: ink. Not here?", '["pen"]'),
    ("x.c, y.h, z.c. Which end in .h?", '["y.h"]'),
    ("ann ok, bob late, cy ok. Which are ok?", '["ann", "cy"]'),
)
ORDER_EXAMPLES = (
    ("ant, fox, owl. By name?", '["ant", "fox", "owl"]'),
    ("tea 3, milk 9, soup 1. Lowest first?", '["soup", "tea", "milk"]'),
    ("ann waits for cy; bob waits for ann. Order?", '["cy", "ann", "bob"]'),
    ("pen, then ink, then cup. Sequence?", '["pen", "ink", "cup"]'),
)
COUNT_EXAMPLES = (
    ("1 fox, 2 bear, 3 cat, 4 owl. Animals?", "four"),
    ("tea, milk. Drinks?", "two"),
    ("ann ok, bob late, cy ok. How many are late?", "one"),
    ("pen 3, ink 9, cup 1, mug 7. How many above 2?", "three"),
    ("1 red, 2 blue, 3 green, 4 pink, 5 grey. Colours?", "five"),
)
MISSING_EXAMPLES = (
    ("Needed: pen, ink. Here: pen. Not here?", "ink"),
    ("fox, bear, fox. Repeated?", "fox"),
    ("x-1, x-2, x-4, x-5. Left out?", "x-3"),
    ("Members: ann, cy. Talking: ann, di, cy. Not a member?", "di"),
    ("Needed: tea, milk, soup. Here: soup, tea. Not here?", "milk"),
)
DEDUCE_EXAMPLES = (
    ("ann is older than bob, bob is older than cy. Oldest?", "ann"),
    ("It was the fox, the bear or the owl. Not the owl, not the fox. Who?", "bear"),
    ("tea is in pot, milk is in jug, pot is with di, jug is with ed. Who has milk?", "ed"),
)

FAMILIES = (
    Family(
        "select",
        "Answer with a JSON list, in the order given.",
        "json",
        select,
        examples=SELECT_EXAMPLES,
        max_tokens=32,
    ),
    Family("order", "Answer with a JSON list.", "json", order, examples=ORDER_EXAMPLES, max_tokens=32),
    Family("count", f"Answer with one word: {', '.join(NUMBERS)}.", "choice", count, examples=COUNT_EXAMPLES),
    Family("missing", "Answer with the one item only.", "normalised", missing, examples=MISSING_EXAMPLES),
    Family("deduce", "Answer with one name.", "choice", deduce, examples=DEDUCE_EXAMPLES),
)
