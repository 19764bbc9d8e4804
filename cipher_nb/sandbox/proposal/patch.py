"""A unified diff of one file, carried out exactly: every context line must be there, and nothing is guessed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count, pairwise

from cipher_nb.errors import ProposalError
from cipher_nb.sandbox.proposal.nearest import nearest, short
from cipher_nb.sandbox.proposal.text import text_of

_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+\d+(?:,(\d+))? @@")
_NAMES = re.compile(r"(?:---|\+\+\+) (?:[ab]/)?([^\t\n]+)")
_HEADS = ("diff --git ", "index ", "--- ", "+++ ")


@dataclass(frozen=True)
class _Hunk:
    """`old` and `new` are its lines without newlines; where one is open, the file ends there without a newline."""

    number: int
    start: int
    old: tuple[str, ...]
    new: tuple[str, ...]
    old_is_open: bool
    new_is_open: bool


def patched(path: str, data: bytes, diff: str) -> bytes:
    """Return the file after `diff`; ProposalError names the hunk, the line, what is expected and what is there.

    A hunk goes where its line number says, or, where it does not fit there, to the only later place where it fits.
    Line ends are the file's own: see `text`. A file without a final newline keeps none, unless the diff marks it.
    """
    text = text_of(path, data)
    lines = text.body.split("\n")
    ends_in_newline = lines[-1] == ""
    lines = lines[:-1] if ends_in_newline else lines
    result: list[str] = []
    done = 0
    for hunk in _hunks(path, text.taken(diff)):
        place = _place(path, lines, hunk, done)
        result += [*lines[done:place], *hunk.new]
        done = place + len(hunk.old)
        ends_in_newline = _end(path, hunk, ends_in_newline, is_last=done == len(lines))
    result += lines[done:]
    return text.packed("\n".join(result) + "\n" * (ends_in_newline and bool(result)))


def _place(path: str, lines: Sequence[str], hunk: _Hunk, done: int) -> int:
    size, stated = len(hunk.old), max(hunk.start - 1, 0)
    if not size and lines:
        raise ProposalError(f"{path}: hunk {hunk.number} has no line of the file; add the lines around the new ones")
    places = [at for at in range(done, len(lines) - size + 1) if tuple(lines[at : at + size]) == hunk.old]
    if stated in places:
        return stated
    if len(places) == 1:
        return places[0]
    if places:
        found = ", ".join(str(place + 1) for place in places[:10])
        raise ProposalError(
            f"{path}: hunk {hunk.number} fits not at line {hunk.start} but at lines {found}; correct its number"
        )
    raise ProposalError(f"{path}: hunk {hunk.number} does not fit: {_misfit(lines, hunk, stated)}")


def _misfit(lines: Sequence[str], hunk: _Hunk, stated: int) -> str:
    near = nearest("\n".join(lines), "\n".join(hunk.old))
    if near:
        return f"{near}; copy its lines exactly"
    there = lines[stated : stated + len(hunk.old)]
    pairs = enumerate(zip(hunk.old, there, strict=False))
    at = next((at for at, (wanted, found) in pairs if wanted != found), len(there))
    if at >= len(hunk.old):
        return "its lines stand in front of those of the hunk before it; put the hunks in order"
    line = short(there[at]) if at < len(there) else "behind the end of the file"
    return f"line {stated + at + 1} is {line}, not {short(hunk.old[at])}; copy the lines around the change exactly"


def _end(path: str, hunk: _Hunk, ends_in_newline: bool, *, is_last: bool) -> bool:
    """Return whether the file ends in a newline after the hunk."""
    if not (hunk.old_is_open or hunk.new_is_open):
        return ends_in_newline
    if not is_last or hunk.old_is_open == ends_in_newline:
        what = "ends in one" if ends_in_newline else "has none either before" if is_last else "goes on there"
        raise ProposalError(f"{path}: hunk {hunk.number} marks a missing newline at the end, but the file {what}")
    return not hunk.new_is_open


def _hunks(path: str, diff: str) -> Iterator[_Hunk]:
    lines = diff.rstrip("\n").split("\n")
    at = _head(path, lines)
    for number in count(1):
        head = _HUNK.match(lines[at])
        if not head:
            raise ProposalError(
                f"{path}: line {at + 1} of the diff is {short(lines[at])}; "
                "send hunks of this one file only, each under a line like @@ -1,3 +1,4 @@"
            )
        body = _body(path, number, lines[at + 1 :], old=int(head[2] or 1), new=int(head[3] or 1))
        yield _hunk(number, int(head[1]), body)
        at += 1 + len(body)
        while at < len(lines) and not lines[at]:
            at += 1
        if at == len(lines):
            return


def _head(path: str, lines: Sequence[str]) -> int:
    """Return where the first hunk begins; the names before it must be those of the file."""
    at = next((at for at, line in enumerate(lines) if not line.startswith(_HEADS)), len(lines) - 1)
    for line in lines[:at]:
        name = _NAMES.match(line)
        if name and name[1] != path:
            raise ProposalError(
                f"{path}: the diff is of {name[1]}; send one edit a file, op 'write' or 'delete' for others"
            )
    return at


def _body(path: str, number: int, lines: Sequence[str], *, old: int, new: int) -> list[str]:
    """Return the lines of a hunk that begins with `lines`; an empty one is an empty line of the file."""
    marks = {" ": (1, 1), "": (1, 1), "-": (1, 0), "+": (0, 1), "\\": (0, 0)}
    body: list[str] = []
    has_old = has_new = 0
    for line in lines:
        step = marks.get(line[:1])
        is_whole = (has_old, has_new) == (old, new)
        if step is None or (is_whole and (not line or line.startswith(_HEADS))):
            break
        body.append(line)
        has_old, has_new = has_old + step[0], has_new + step[1]
    if (has_old, has_new) != (old, new):
        raise ProposalError(
            f"{path}: hunk {number} says {old} old and {new} new lines and has {has_old} and {has_new}; "
            "correct its @@ line, or send all its lines"
        )
    return body


def _hunk(number: int, start: int, body: Sequence[str]) -> _Hunk:
    old = [line[1:] for line in body if line[:1] in ("", " ", "-")]
    new = [line[1:] for line in body if line[:1] in ("", " ", "+")]
    open_marks = {before[:1] for before, line in pairwise(body) if line.startswith("\\")}
    old_is_open, new_is_open = not open_marks.isdisjoint(("-", " ", "")), not open_marks.isdisjoint(("+", " ", ""))
    return _Hunk(number, start, tuple(old), tuple(new), old_is_open, new_is_open)
