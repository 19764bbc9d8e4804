"""training gate: applying the non-regression rule to small tables of scores, in exact hundredths."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence

from cipher_nb.battery.family import Family, Question, rounds, vocabulary
from cipher_nb.battery.samples import Side

CATEGORY = "training gate"

LARGEST_DROP = -5
DELTAS = (-8, -7, -6, -6, -5, -5, -5, -4, -3, -2, -1, 1, 2, 3, 4, 5, 6, 7, 9)
NAMES = vocabulary(
    practice="lint search refactor rename shell docs git review naming typing",
    sealed="math settings memory exports routing policy debug handoff workbench byok",
)
SCORES = {"practice": range(20, 41), "sealed": range(60, 86)}
ASK = {
    "fails": {"practice": "Fails:", "sealed": "Failed:"},
    "number": {"practice": "And {} {} =", "sealed": "So {} {} ="},
    "composite": {"practice": "What is the composite?", "sealed": "Composite, please."},
}


def verdict(rng: random.Random, side: Side) -> Iterator[Question]:
    for wanted in rounds(RULINGS, rng):
        deltas = _drawn(rng, 3, wanted=wanted)
        yield Question(rng.choice((_listed, _scored))(rng, side, _named(rng, side, deltas)), wanted, RULINGS)


def fails(rng: random.Random, side: Side) -> Iterator[Question]:
    for failed in rounds((0, 1, 1, 1, 1), rng):
        deltas = _drawn(rng, rng.choice((2, 3)), failed=failed)
        table = _named(rng, side, deltas)
        name = next((name for name, delta in table.items() if delta < LARGEST_DROP), "none")
        told = rng.choice((_listed, _listed, _scored))
        yield Question(f"{told(rng, side, table)}\n{ASK['fails'][side]}", name)


def number(rng: random.Random, side: Side) -> Iterator[Question]:
    for wanted in rounds(("production", "candidate", "delta", "delta"), rng):
        table = _named(rng, side, _drawn(rng, rng.choice((1, 1, 2))))
        before = _before(rng, side, table)
        name = rng.choice(list(table))
        answer = {"delta": table[name], "production": before[name], "candidate": before[name] + table[name]}
        text = f"{_scores(table, before)}\n{ASK['number'][side].format(name, wanted)}"
        yield Question(text, _decimal(answer[wanted]))


def composite(rng: random.Random, side: Side) -> Iterator[Question]:
    for count in rounds((1, 2, 2, 3), rng):
        table = _named(rng, side, _drawn(rng, count))
        told = _listed if count != 2 else rng.choice((_listed, _scored))
        mean = sum(table.values()) // count
        yield Question(f"{told(rng, side, table)}\n{ASK['composite'][side]}", _decimal(mean))


def report(rng: random.Random, side: Side) -> Iterator[Question]:
    for wanted, failed in rounds((("pass", 0), ("composite", 0), ("category", 1), ("category", 2)), rng):
        deltas = _drawn(rng, 3, wanted=wanted, failed=failed)
        table = _named(rng, side, deltas)
        answer = {"passed": wanted == "pass", "failed": [name for name in table if table[name] < LARGEST_DROP]}
        text = f"{_listed(rng, side, table)}, composite {sum(deltas) / 300:+.2f}"
        yield Question(text, json.dumps(answer))


RULINGS = ("pass", "category", "composite")


def ruling(deltas: Sequence[int]) -> str:
    """Return what fails first by the rule, a category or the composite, or "pass"; deltas are in hundredths."""
    if _failing(deltas):
        return "category"
    return "composite" if sum(deltas) < 0 else "pass"


def _failing(deltas: Sequence[int]) -> list[int]:
    return [delta for delta in deltas if delta < LARGEST_DROP]


def _drawn(rng: random.Random, count: int, *, wanted: str = "", failed: int | None = None) -> list[int]:
    """Return deltas whose mean is a whole number of hundredths; their ruling or how many fail may be asked for."""
    while True:
        deltas = rng.choices(DELTAS, k=count)
        as_wanted = wanted in ("", ruling(deltas)) and failed in (None, len(_failing(deltas)))
        if sum(deltas) % count == 0 and as_wanted:
            return deltas


def _named(rng: random.Random, side: Side, deltas: Sequence[int]) -> dict[str, int]:
    return dict(zip(rng.sample(NAMES[side], len(deltas)), deltas, strict=True))


def _listed(_rng: random.Random, _side: Side, table: dict[str, int]) -> str:
    return ", ".join(f"{name} {delta / 100:+.2f}" for name, delta in table.items())


def _scored(rng: random.Random, side: Side, table: dict[str, int]) -> str:
    return _scores(table, _before(rng, side, table))


def _before(rng: random.Random, side: Side, table: dict[str, int]) -> dict[str, int]:
    return {name: rng.choice(SCORES[side]) for name in table}


def _scores(table: dict[str, int], before: dict[str, int]) -> str:
    return "\n".join(
        f"{name}: production {_decimal(before[name])}, candidate {_decimal(before[name] + table[name])}"
        for name in table
    )


def _decimal(hundredths: int) -> str:
    return f"{hundredths / 100:.2f}"


RULE = "A category fails if it lost more than 0.05; exactly -0.05 is allowed."
VERDICT = (
    f"{RULE} The composite (mean of all deltas) fails below 0. "
    "Answer category if a category fails, else composite if that fails, else pass."
)
VERDICT_EXAMPLES = (
    ("tone +0.02, style -0.09, tables +0.10", "category"),
    ("style: production 0.50, candidate 0.49\ntone: production 0.50, candidate 0.53", "pass"),
    ("tables -0.04, tone -0.04, style +0.02", "composite"),
)
FAILS_EXAMPLES = (
    ("tone +0.03, style -0.10, tables -0.02\nFailing:", "style"),
    ("tables -0.05, tone +0.01\nFailing:", "none"),
    ("tone: production 0.50, candidate 0.39\ntables: production 0.52, candidate 0.50\nFailing:", "tone"),
)
NUMBER_EXAMPLES = (
    ("tone: production 0.50, candidate 0.53\ntone delta =", "0.03"),
    (
        "style: production 0.12, candidate 0.10\ntone: production 0.51, candidate 0.55\ntone candidate =",
        "0.55",
    ),
    ("style: production 0.12, candidate 0.10\nstyle delta =", "-0.02"),
    ("tone: production 0.57, candidate 0.51\ntone production =", "0.57"),
)
COMPOSITE_EXAMPLES = (
    ("tone +0.02, style +0.06\nComposite?", "0.04"),
    ("tables -0.03\nComposite?", "-0.03"),
    ("tone -0.01, style -0.06, tables +0.01\nComposite?", "-0.02"),
)
REPORT_EXAMPLES = (
    ("tone -0.10, style +0.01, tables +0.12, composite +0.01", '{"passed": false, "failed": ["tone"]}'),
    ("style +0.05, tone -0.05, tables +0.03, composite +0.01", '{"passed": true, "failed": []}'),
    ("tone -0.03, tables -0.04, style +0.01, composite -0.02", '{"passed": false, "failed": []}'),
)

FAMILIES = (
    Family("verdict", VERDICT, "choice", verdict, examples=VERDICT_EXAMPLES),
    Family("fails", f"{RULE} Name the one that fails, or none.", "normalised", fails, examples=FAILS_EXAMPLES),
    Family(
        "number",
        "A delta is the candidate's (new) score minus production's (old). Answer with the number.",
        "numeric",
        number,
        examples=NUMBER_EXAMPLES,
    ),
    Family(
        "composite",
        "A delta is candidate minus production, the composite's the plain mean of all. Answer with the signed number.",
        "numeric",
        composite,
        examples=COMPOSITE_EXAMPLES,
    ),
    Family(
        "report",
        f'{RULE} "failed" lists those; "passed" needs none of them and a composite of 0 or more. Answer in JSON.',
        "json",
        report,
        examples=REPORT_EXAMPLES,
        max_tokens=32,
    ),
)
