"""Answers that are code: the program that tries them, and the score of its run."""

from __future__ import annotations

import re
from collections.abc import Callable

RunCode = Callable[[str], bool | None]
"""Runs a Python program, held in: True if it ran to its end, False if it failed or took too long, None if it could
not be run at all."""

_FENCED = re.compile(r"```[^\n`]*\n(.*?)(?:^[ \t]*```|\Z)", re.DOTALL | re.MULTILINE)


def code_passes(tests: str, answer: str, *, run_code: RunCode) -> float | None:
    """Return 1 if the answer's code and then `tests` (asserts, as a rule) run to their end, None if neither could."""
    passed = run_code(f"{code_of(answer)}\n{tests}\n")
    return None if passed is None else float(passed)


def code_of(answer: str) -> str:
    """Return the first fenced block of the answer, also one that was cut off, else the whole answer."""
    block = _FENCED.search(answer)
    return block[1] if block else answer
