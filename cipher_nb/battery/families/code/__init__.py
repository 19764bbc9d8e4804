"""code: small Python functions to write or repair, and short snippets to understand."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass

from cipher_nb.battery.families.code.lists import LIST_TASKS
from cipher_nb.battery.families.code.scalars import NUMBER_TASKS, TEXT_TASKS
from cipher_nb.battery.families.code.snippets import line, name, output
from cipher_nb.battery.families.code.task import ARGUMENTS, INPUTS, LOOP_VARIABLES, Task
from cipher_nb.battery.family import Family, Question, rounds
from cipher_nb.battery.samples import Side

CATEGORY = "code"

ALL_TASKS = (
    *(("number", task) for task in NUMBER_TASKS),
    *(("text", task) for task in TEXT_TASKS),
    *(("list", task) for task in LIST_TASKS),
)


@dataclass(frozen=True)
class Function:
    """A task with its names and constant drawn: docstring, code, ways to have it wrong, and tests."""

    header: str
    doc: str
    right: str
    wrong: tuple[str, ...]
    tests: str


def drawn(task: Task, takes: str, rng: random.Random, side: Side) -> Function:
    argument, constant = rng.choice(ARGUMENTS[side][takes]), rng.choice(task.constants[side])
    name, doc = task.practice if side == "practice" else task.sealed
    words = {"x": argument, "k": constant, "v": rng.choice(LOOP_VARIABLES[side])}
    body = task.right.format(**words)
    misspelt = re.sub(rf"\b{argument}\b", f"{argument}s", body, count=1)
    header = f"def {name}({argument}):"
    tried = [*INPUTS[takes], *task.extra]
    return Function(
        header=header,
        doc=doc.format(**words),
        right=f"{header}\n    return {body}",
        wrong=(
            f"{header}\n    return {task.wrong.format(**words)}",
            f"{header}\n    return {misspelt}",
            f"{header[:-1]}\n    return {body}",
        ),
        tests="\n".join(f"assert {name}({given!r}) == {task.solve(given, constant)!r}" for given in tried),
    )


def write(rng: random.Random, side: Side) -> Iterator[Question]:
    for takes, task in rounds(ALL_TASKS, rng):
        asked = drawn(task, takes, rng, side)
        yield Question(f'{asked.header}\n    """{asked.doc}"""', asked.tests, reference=asked.right)


def repair(rng: random.Random, side: Side) -> Iterator[Question]:
    for takes, task in rounds(ALL_TASKS, rng):
        asked = drawn(task, takes, rng, side)
        meaning, misspelt, unfinished = asked.wrong
        broken = rng.choice((meaning, meaning, misspelt, unfinished))
        yield Question(f"{asked.doc}\n{broken}", asked.tests, reference=asked.right)


WRITE_EXAMPLES = (
    ('def half(cost):\n    """Halve cost."""', "def half(cost):\n    return cost / 2"),
    ('def lower(city):\n    """Lower-case city."""', "def lower(city):\n    return city.lower()"),
    ('def lowest(days):\n    """Minimum of days."""', "def lowest(days):\n    return min(days)"),
)
REPAIR_EXAMPLES = (
    ("Halve cost.\ndef half(cost):\n    return cost * 2", "def half(cost):\n    return cost / 2"),
    ("Lower-case city.\ndef lower(city)\n    return city.lower()", "def lower(city):\n    return city.lower()"),
    ("Minimum of days.\ndef lowest(days):\n    return min(day)", "def lowest(days):\n    return min(days)"),
)
OUTPUT_EXAMPLES = (
    ("k = 'moon'\nprint(k[0])", "m"),
    ("k = 1\nk = k + 99\nprint(k)", "100"),
    ("k = [1, 0]\nk.append(1)\nprint(k)", "[1, 0, 1]"),
    ("k = 'moon'\nprint(k + 's')", "moons"),
)
LINE_EXAMPLES = (
    ("1: min(1, 0)\n2: [][0]\n3: 1 + 1\n4: 'moon'.lower()", "2"),
    ("1: min(1, 0)\n2: 1 + 1\n3: [1]\n4: int('moon')", "4"),
    ("1: moon\n2: 1 + 1\n3: [1]\n4: min(1, 0)", "1"),
    ("1: abs(1)\n2: 1 + 1\n3: 1 / 0\n4: str(1)", "3"),
)
NAME_EXAMPLES = (
    ("What is wrong with {}['moon']", "KeyError"),
    ("What made -1 into 1", "abs"),
    ("What is wrong with 1 / 0", "ZeroDivisionError"),
    ("What made [0, 1] into True", "any"),
)

FAMILIES = (
    Family(
        "write",
        "Complete the function, which returns its result. Answer with Python code only.",
        "code",
        write,
        examples=WRITE_EXAMPLES,
        max_tokens=64,
    ),
    Family(
        "repair",
        "Repair the function so that it does what the first line says. Answer with Python code only.",
        "code",
        repair,
        examples=REPAIR_EXAMPLES,
        max_tokens=64,
    ),
    Family("output", "Answer with what the program prints.", "exact", output, examples=OUTPUT_EXAMPLES, max_tokens=24),
    Family("line", "One line raises an error. Answer with its number.", "choice", line, examples=LINE_EXAMPLES),
    Family("name", "Answer with one Python name.", "choice", name, examples=NAME_EXAMPLES),
)
