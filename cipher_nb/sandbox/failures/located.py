"""Linters, type checkers and compilers: `file:line:column: message`, or a message above ` --> file:line:column`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from cipher_nb.sandbox.failures.failure import Failure, is_own

_LINE = re.compile(r"^(?:\./)?([^\s:()]+\.\w+)(?::(\d+)(?::\d+)?:|\((\d+),\d+\):) (?!note:)(.+)$")
_ARROW = re.compile(r"^\s*--> (?:\./)?(\S+):(\d+):\d+$")
_GOT_FIRST = re.compile(r"\(got (.+), expected (.+?)\)")
_EXPRESSION_FIRST = re.compile(
    r"\(expression has type (.+), (?:variable|target|base class .+) (?:has|defined.*) type (.+?)\)"
)
_EXPECTED_FIRST = re.compile(r"expected (`[^`]+`|\"[^\"]+\"), (?:found|got) (`[^`]+`|\"[^\"]+\")")
_WARNING = re.compile(r"^warning\b")


def read_located(output: str) -> tuple[Failure, ...]:
    """Return what ruff, mypy, tsc, gcc, go vet, rustc and their like found, one a message."""
    return tuple(_failures(output.splitlines()))


def _failures(lines: list[str]) -> Iterator[Failure]:
    for number, line in enumerate(lines):
        if place := _LINE.match(line):
            yield _failure(place[1], int(place[2] or place[3]), place[4], place[4])
        elif number and (place := _ARROW.match(line)) and not _WARNING.match(lines[number - 1]):
            labels = " ".join(_drawing(lines[number + 1 :]))
            yield _failure(place[1], int(place[2]), lines[number - 1].strip(), labels)


def _drawing(lines: list[str]) -> Iterator[str]:
    """Yield the source lines that a compiler drew under its message."""
    for line in lines:
        if "|" not in line:
            return
        yield line


def _failure(file: str, line: int, message: str, telling: str) -> Failure:
    expected = found = ""
    if sides := _GOT_FIRST.search(telling) or _EXPRESSION_FIRST.search(telling):
        found, expected = sides[1], sides[2]
    elif sides := _EXPECTED_FIRST.search(telling):
        expected, found = sides[1], sides[2]
    return Failure(file=file if is_own(file) else "", line=line, expected=expected, found=found, message=message)
