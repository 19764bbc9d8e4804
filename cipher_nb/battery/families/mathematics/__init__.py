"""math: the arithmetic of a day's work, with counts, durations, sizes, shares and the clock."""

from __future__ import annotations

import random
from collections.abc import Iterator
from fractions import Fraction

from cipher_nb.battery.families.mathematics.amounts import SHARES, SIZES, TOTALS, Draw, drawer, questions
from cipher_nb.battery.families.mathematics.clock import CLOCK
from cipher_nb.battery.family import Family, Question, rounds
from cipher_nb.battery.samples import Side

CATEGORY = "math"

NAMES = {
    "practice": ("build", "lint", "docs", "test", "pack", "sync", "index", "merge", "audit", "cache", "login", "query"),
    "sealed": ("parse", "fetch", "render", "upload", "crawl", "scan", "zip", "mail", "verify", "notify", "import"),
}
MOST = {
    "practice": {"s": "Which takes longest?", "KB": "Which is biggest?", "of": "Which has the highest share?"},
    "sealed": {"s": "Name the slowest.", "KB": "Name the largest.", "of": "Name the greatest ratio."},
}
LEAST = {
    "practice": {"s": "Which takes the least time?", "KB": "Which is smallest?", "of": "Which has the lowest share?"},
    "sealed": {"s": "Name the quickest.", "KB": "Name the tiniest.", "of": "Name the least ratio."},
}
Quantity = tuple[str, Fraction]
"""How it is written, and what it is worth."""


def _coin(draw: Draw) -> bool:
    return draw(0, 3) % 2 == 0


def _plain_s(draw: Draw) -> Quantity:
    seconds = draw(5, 99)
    return f"{seconds} s", Fraction(seconds)


def _decimal_s(draw: Draw) -> Quantity:
    text = f"{draw(2, 8)}.{draw(1, 99)}"
    return f"{text} s", Fraction(text)


def _any_s(draw: Draw) -> Quantity:
    seconds = draw(65, 290)
    return (f"{seconds} s" if _coin(draw) else f"{seconds // 60} min {seconds % 60} s"), Fraction(seconds)


def _any_kb(draw: Draw) -> Quantity:
    kb = 100 * draw(8, 60)
    return (f"{kb} KB" if _coin(draw) else f"{kb / 1000:.1f} MB"), Fraction(kb)


def _share(draw: Draw) -> Quantity:
    whole = draw(10, 60)
    part = draw(2, whole - 1)
    return f"{part} of {whole}", Fraction(part, whole)


QUANTITIES = (("s", _plain_s), ("s", _decimal_s), ("s", _any_s), ("KB", _any_kb), ("of", _share))


def total(rng: random.Random, side: Side) -> Iterator[Question]:
    return questions(TOTALS, rng, side)


def size(rng: random.Random, side: Side) -> Iterator[Question]:
    return questions(SIZES, rng, side)


def share(rng: random.Random, side: Side) -> Iterator[Question]:
    return questions(SHARES, rng, side)


def clock(rng: random.Random, side: Side) -> Iterator[Question]:
    return questions(CLOCK, rng, side)


def compare(rng: random.Random, side: Side) -> Iterator[Question]:
    draw = drawer(rng, side)
    cases = [(*quantity, place, most) for quantity in QUANTITIES for place in range(3) for most in (True, False)]
    for unit, quantity, place, most in rounds(cases, rng):
        texts = {value: text for text, value in (quantity(draw) for _ in range(3))}
        if len(texts) < 3:
            continue
        winner, *others = (texts[value] for value in sorted(texts, reverse=most))
        rng.shuffle(others)
        names = tuple(rng.sample(NAMES[side], 3))
        shown = [*others[:place], winner, *others[place:]]
        text = ", ".join(f"{name} {quantity}" for name, quantity in zip(names, shown, strict=True))
        question = (MOST if most else LEAST)[side][unit]
        yield Question(f"{text}. {question}", names[place], names)


TOTAL_EXAMPLES = (
    ("Add 2 and 3.", "5"),
    ("None of 90 pens got lost. Pens now?", "90"),
    ("Add 4 and 6 cats.", "10"),
    ("1 min 5 s in seconds?", "65"),
    ("Add 7 and 1.", "8"),
)
SIZE_EXAMPLES = (
    ("1 MB = ? KB", "1000"),
    ("5 MB = ? KB", "5000"),
    ("12 MB = ? KB", "12000"),
    ("8 GB = ? MB", "8000"),
)
SHARE_EXAMPLES = (
    ("15 of 100 cats are black. Percentage?", "15"),
    ("1 of 4 cats is white. Percentage?", "25"),
    ("50 % of 8 cats?", "4"),
    ("80 of 100 cats are old. Percentage?", "80"),
)
CLOCK_EXAMPLES = (
    ("Noted 10:40 AM.", "10:40"),
    ("Noted 9:05 AM.", "09:05"),
    ("Noted 1:10 PM.", "13:10"),
    ("24 hours after 18:25.", "18:25"),
    ("One day after 07:52.", "07:52"),
)
COMPARE_EXAMPLES = (
    ("apple 3 s, pear 1 min, kiwi 9 s. Longest?", "pear"),
    ("red 2 KB, blue 1 KB, green 1 MB. Least?", "blue"),
    ("north 1 of 2, south 1 of 3, east 1 of 9. Highest?", "north"),
)

FAMILIES = (
    Family("total", "Answer with the number only.", "numeric", total, examples=TOTAL_EXAMPLES),
    Family(
        "size",
        "1 KB is 1000 bytes, 1 MB 1000 KB, 1 GB 1000 MB, 1 TB 1000 GB. Answer with the number only.",
        "numeric",
        size,
        examples=SIZE_EXAMPLES,
    ),
    Family("share", "Answer with the number only.", "numeric", share, examples=SHARE_EXAMPLES),
    Family("clock", "Answer with the time only, as HH:MM (24 hours).", "exact", clock, examples=CLOCK_EXAMPLES),
    Family("compare", "1 MB is 1000 KB. Answer with one name.", "choice", compare, examples=COMPARE_EXAMPLES),
)
