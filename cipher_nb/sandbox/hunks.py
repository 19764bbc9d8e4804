"""The part of an attempt's own diff that a failure concerns."""

from __future__ import annotations

import keyword
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from cipher_nb.sandbox.failures import Failure

MAX_HUNKS = 2
MAX_LINES = 12

_HEADER = re.compile(r"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_NAME = re.compile(r"[A-Za-z_]\w*")
_DEFINED = re.compile(
    r"\b(?:def|class|func|function|fn|const|let|var|struct|enum|trait|interface|type)\s+(?:\([^)]*\)\s*)?(\w+)"
    r"|^.\s*(\w+)\s*="
)


@dataclass(frozen=True)
class Hunk:
    """A run of changed lines of one file; `start` is the number of its first line in the new file."""

    file: str
    header: str
    start: int
    lines: tuple[str, ...]


def concerned_hunks(diff: str, failures: Sequence[Failure]) -> tuple[Hunk, ...]:
    """Return at most two hunks: of a file that a failure names, else those that define or hold a name it speaks of.

    Where nothing fits, the first hunk stands for the change. Each is cut to a dozen lines around what it is shown for.
    """
    hunks = tuple(_hunks(diff))
    names = _names(failures)
    ranked = sorted(hunks, key=lambda hunk: -_rank(hunk, failures, names))
    fitting = [hunk for hunk in ranked if _rank(hunk, failures, names)][:MAX_HUNKS]
    return tuple(_around(hunk, failures, names) for hunk in fitting or hunks[:1])


def _hunks(diff: str) -> Iterator[Hunk]:
    file, lines = "", diff.split("\n")
    number = 0
    while number < len(lines):
        line = lines[number]
        number += 1
        if line.startswith("diff --git "):
            file = ""
        elif line.startswith(("--- a/", "+++ b/")):
            file = line[6:].partition("\t")[0]
        elif header := _HEADER.match(line):
            end = _end(lines, number, old=int(header[2] or 1), new=int(header[4] or 1))
            yield Hunk(file, header[0], int(header[3]), tuple(lines[number:end]))
            number = end


def _end(lines: Sequence[str], number: int, *, old: int, new: int) -> int:
    """Return where a hunk of so many old and new lines ends: a removed line may look like a header."""
    while number < len(lines) and (old > 0 or new > 0 or lines[number].startswith("\\")):
        kind = lines[number][:1]
        old -= kind in (" ", "-", "")
        new -= kind in (" ", "+", "")
        number += 1
    return number


def _names(failures: Sequence[Failure]) -> frozenset[str]:
    words = (word for failure in failures for word in _NAME.findall(f"{failure.message} {failure.test}"))
    return frozenset(word for word in words if len(word) > 1 and not keyword.iskeyword(word))


def _rank(hunk: Hunk, failures: Sequence[Failure], names: Collection[str]) -> int:
    if any(failure.file == hunk.file for failure in failures):
        return 3
    if any(_defined(line, names) for line in hunk.lines):
        return 2
    return int(any(name in names for line in hunk.lines for name in _NAME.findall(line)))


def _defined(line: str, names: Collection[str]) -> bool:
    match = _DEFINED.search(line)
    return match is not None and (match[1] or match[2]) in names


def _around(hunk: Hunk, failures: Sequence[Failure], names: Collection[str]) -> Hunk:
    """Cut a long hunk to the lines around the failing one, a definition, or its first change, whichever is there."""
    if len(hunk.lines) <= MAX_LINES:
        return hunk
    focus = _focus(hunk, failures, names)
    start = min(max(0, focus - MAX_LINES // 3), len(hunk.lines) - MAX_LINES)
    end = start + MAX_LINES
    shown = (*["…"] * (start > 0), *hunk.lines[start:end], *["…"] * (end < len(hunk.lines)))
    return Hunk(hunk.file, hunk.header, hunk.start, shown)


def _focus(hunk: Hunk, failures: Sequence[Failure], names: Collection[str]) -> int:
    wanted = {failure.line for failure in failures if failure.file == hunk.file}
    new_line = hunk.start
    defined = changed = None
    for index, line in enumerate(hunk.lines):
        if not line.startswith("-"):
            if new_line in wanted:
                return index
            new_line += 1
        defined = index if defined is None and _defined(line, names) else defined
        changed = index if changed is None and line[:1] in ("+", "-") else changed
    return defined or changed or 0
