"""Ways to ask for an amount: sums, sizes and shares."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from cipher_nb.battery.family import Question, rounds
from cipher_nb.battery.samples import Side

Draw = Callable[[int, int], int]
"""From the lowest and the highest number wanted to one that only this side uses."""
Values = Mapping[str, int | str]


@dataclass(frozen=True)
class Kind:
    """What to draw, with the "answer" among it, and how either side words it."""

    values: Callable[[Draw], Values]
    practice: tuple[str, ...]
    sealed: tuple[str, ...]


def drawer(rng: random.Random, side: Side) -> Draw:
    """Return a draw of whole numbers that the other side never draws: it has other remainders by four."""
    mine = {"practice": (0, 1), "sealed": (2, 3)}[side]
    return lambda low, high: rng.choice([number for number in range(low, high + 1) if number % 4 in mine])


def questions(kinds: tuple[Kind, ...], rng: random.Random, side: Side) -> Iterator[Question]:
    draw = drawer(rng, side)
    for kind in rounds(kinds, rng):
        values = kind.values(draw)
        wordings = kind.practice if side == "practice" else kind.sealed
        yield Question(rng.choice(wordings).format(**values), str(values["answer"]))


def _nothing(draw: Draw) -> Values:
    a = draw(2, 300)
    return {"a": a, "answer": a}


def _small_sum(draw: Draw) -> Values:
    a, b = draw(2, 12), draw(2, 12)
    return {"a": a, "b": b, "answer": a + b}


def _sum(draw: Draw) -> Values:
    a, b = draw(2, 40), draw(2, 40)
    return {"a": a, "b": b, "answer": a + b}


def _rest(draw: Draw) -> Values:
    a, rest = draw(2, 40), draw(2, 40)
    return {"a": a, "all": a + rest, "answer": rest}


def _seconds(draw: Draw) -> Values:
    m, s = draw(2, 12), draw(5, 55)
    return {"m": m, "s": s, "answer": 60 * m + s}


def _two_durations(draw: Draw) -> Values:
    a, b, c, d = draw(2, 9), draw(10, 55), draw(2, 9), draw(10, 55)
    return {"a": a, "b": b, "c": c, "d": d, "answer": 60 * (a + c) + b + d}


def _product_less(draw: Draw) -> Values:
    n, k, less = draw(3, 12), draw(4, 20), draw(2, 11)
    return {"n": n, "k": k, "less": less, "answer": n * k - less}


def _batches(draw: Draw) -> Values:
    size, answer = draw(4, 30), draw(3, 20)
    return {"size": size, "all": size * answer, "answer": answer}


TOTALS = (
    Kind(
        _nothing,
        practice=("None of {a} tests failed. Passed?", "None of {a} pages got lost. Left?"),
        sealed=("No row was added to {a} rows. Rows now?", "None of {a} mails bounced. Delivered?"),
    ),
    Kind(
        _small_sum,
        practice=("Add {a} and {b}.", "Add {a} and {b} files."),
        sealed=("Add {a} and {b} errors.", "Add {a} and {b} rows."),
    ),
    Kind(
        _small_sum,
        practice=("Add {a} and {b} seconds.", "Add {a} and {b} pages."),
        sealed=("Add {a} and {b} hours.", "Add {a} and {b} users."),
    ),
    Kind(
        _sum,
        practice=(
            "{a} tests passed and {b} failed. How many tests ran?",
            "Two folders hold {a} and {b} files. Together?",
        ),
        sealed=(
            "Count {a} warnings plus {b} errors.",
            "Monday brought {a} commits, Tuesday {b}. Commits on both days?",
        ),
    ),
    Kind(
        _rest,
        practice=(
            "{all} tasks were planned and {a} are finished. How many are left?",
            "{a} of {all} lines are read. Unread?",
        ),
        sealed=("Out of {all} tickets {a} got closed. Still open?", "A queue of {all} jobs lost {a}. Jobs in it now?"),
    ),
    Kind(
        _seconds,
        practice=("A build took {m} min {s} s. How many seconds?", "{m} min {s} s in seconds?"),
        sealed=(
            "Give {m} minutes and {s} seconds as seconds.",
            "Deploying needs {m}m {s}s, or what number of seconds?",
        ),
    ),
    Kind(
        _two_durations,
        practice=("Lint takes {a} min {b} s, tests take {c} min {d} s. Seconds in all?",),
        sealed=("Total seconds of two uploads that last {a}m {b}s and {c}m {d}s:",),
    ),
    Kind(
        _product_less,
        practice=("{n} machines run {k} jobs each, {less} jobs fail. How many succeed?",),
        sealed=("There are {n} pages with {k} links per page; {less} links are dead. Live links?",),
    ),
    Kind(
        _batches,
        practice=("{all} rows go out {size} at a time. How many batches?",),
        sealed=("Split {all} images over folders of {size}. Folders needed?",),
    ),
)


def _whole_mb(draw: Draw) -> Values:
    a = draw(2, 199)
    return {"a": a, "answer": 1000 * a}


def _decimal_mb(draw: Draw) -> Values:
    tenths = draw(11, 99)
    return {"a": f"{tenths // 10}.{tenths % 10}", "answer": 100 * tenths}


def _mb_and_kb(draw: Draw) -> Values:
    a, b = draw(2, 19), draw(20, 950)
    return {"a": a, "b": b, "answer": 1000 * a + b}


def _free_mb(draw: Draw) -> Values:
    a, b = draw(2, 19), draw(20, 950)
    return {"a": a, "b": b, "answer": 1000 * a - b}


def _copies_mb(draw: Draw) -> Values:
    n, k = draw(2, 12), draw(3, 60)
    return {"n": n, "k": k, "answer": n * k}


def _transfer_s(draw: Draw) -> Values:
    hundreds, answer = draw(1, 9), draw(2, 40)
    return {"a": f"{hundreds * answer / 10:.1f}", "rate": 100 * hundreds, "answer": answer}


def _whole_kb(draw: Draw) -> Values:
    a = draw(2, 90)
    return {"a": 1000 * a, "answer": a}


SIZES = (
    Kind(
        _whole_kb,
        practice=("{a} KB in MB?", "How many GB are {a} MB?"),
        sealed=("Turn {a} MB into GB.", "{a} KB as MB:"),
    ),
    Kind(_whole_mb, practice=("{a} MB = ? KB",), sealed=("{a} GB = ? MB",)),
    Kind(_whole_mb, practice=("{a} KB = ? bytes",), sealed=("{a} TB = ? GB",)),
    Kind(
        _decimal_mb,
        practice=("{a} GB in MB?", "How many KB has a photo of {a} MB?"),
        sealed=("Convert {a} MB to KB.", "A dump has {a} GB. State it as MB."),
    ),
    Kind(
        _mb_and_kb,
        practice=("A log has {a} MB and a page {b} KB. KB together?", "One disk has {a} GB, one {b} MB. MB together?"),
        sealed=("Add {b} KB to {a} MB; answer as KB.", "Model of {a} GB plus adapter of {b} MB: total MB?"),
    ),
    Kind(
        _free_mb,
        practice=("A disk of {a} GB holds {b} MB. How many MB are free?", "{b} KB of {a} MB are used. KB left?"),
        sealed=("Quota {a} GB, used {b} MB. Remaining MB?", "Take {b} KB away from {a} MB; answer as KB."),
    ),
    Kind(
        _copies_mb,
        practice=("A backup has {k} MB. How many MB do {n} of them take?", "{n} files of {k} KB: how many KB?"),
        sealed=("Store {n} snapshots, {k} GB apiece. GB needed?", "Each of {n} layers weighs {k} MB. MB overall?"),
    ),
    Kind(
        _transfer_s,
        practice=("How many seconds do {a} GB take at {rate} MB per second?",),
        sealed=("Download {a} GB, {rate} MB every second. Seconds needed?",),
    ),
)


def _of_hundred(draw: Draw) -> Values:
    a = draw(2, 98)
    return {"a": a, "answer": a}


def _complement(draw: Draw) -> Values:
    a = draw(2, 98)
    return {"a": a, "answer": 100 - a}


def _percent_of(draw: Draw) -> Values:
    fives, twenties = draw(1, 18), draw(2, 30)
    return {"p": 5 * fives, "all": 20 * twenties, "answer": fives * twenties}


def _percent(draw: Draw) -> Values:
    fives, twenties = draw(1, 18), draw(2, 30)
    return {"part": fives * twenties, "all": 20 * twenties, "answer": 5 * fives}


def _percent_left(draw: Draw) -> Values:
    fives, twenties = draw(1, 18), draw(2, 30)
    return {"p": 5 * fives, "all": 20 * twenties, "answer": (20 - fives) * twenties}


def _percent_saved(draw: Draw) -> Values:
    fives, twenties = draw(1, 18), draw(2, 30)
    return {"before": 20 * twenties, "after": (20 - fives) * twenties, "answer": 5 * fives}


SHARES = (
    Kind(
        _of_hundred,
        practice=("{a} of 100 tests failed. Percentage?", "{a} of 100 files are new. Percentage?"),
        sealed=("{a} of 100 users upgraded. Percentage?", "{a} of 100 rows are empty. Percentage?"),
    ),
    Kind(
        _of_hundred,
        practice=("{a} of 100 pages are read. Percentage?", "{a} of 100 hosts are up. Percentage?"),
        sealed=("{a} of 100 mails bounced. Percentage?", "{a} of 100 lookups hit. Percentage?"),
    ),
    Kind(
        _complement,
        practice=(
            "{a} % of the code is covered. What percentage is not?",
            "{a} % of a disk are full. Percentage free?",
        ),
        sealed=("A download stands at {a} %. Percentage still to come?", "Uptime was {a} %. Give downtime as percent."),
    ),
    Kind(
        _percent_of,
        practice=("How much is {p} % of {all}?", "{p} % of {all} tests fail. How many fail?"),
        sealed=("Compute {p} percent from {all}.", "A crawler dropped {p} percent of its {all} pages. Pages dropped?"),
    ),
    Kind(
        _percent,
        practice=("{part} of {all} checks passed. What percentage is that?",),
        sealed=("{all} mails went out, {part} bounced. Bounce rate, as percent?",),
    ),
    Kind(
        _percent_left,
        practice=("{p} % of {all} lines are covered. How many lines are not?",),
        sealed=("Of {all} rows {p} percent get deleted. Rows left over?",),
    ),
    Kind(
        _percent_saved,
        practice=("The build went from {before} s to {after} s. By what percentage did it shrink?",),
        sealed=("Memory used before: {before} MB. Used now: {after} MB. Percent saved?",),
    ),
)
