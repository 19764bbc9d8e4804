"""A unified diff as data: its files, what becomes of each in words, and the rows that stand side by side."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import zip_longest

ALIKE = 0.5
MAX_PAIRS = 400
MAX_COMPARED_CHARS = 400

_FILE = "diff --git "
_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
BINARY = "binary"
EXECUTABLE = "100755"
_KINDS = {EXECUTABLE: "executable file", "120000": "link"}


@dataclass(frozen=True)
class Line:
    """A line with its number in its file; `ended` is False for a last line without its newline."""

    number: int
    text: str
    ended: bool = True


@dataclass(frozen=True)
class Row:
    """A line before and after; None where there is no counterpart. An unchanged line stands on both sides."""

    old: Line | None
    new: Line | None
    changed: bool


@dataclass(frozen=True)
class Hunk:
    """Rows that follow each other, after `skipped` unchanged lines that the diff leaves out."""

    skipped: int
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class FileChange:
    """What a diff says of one file; `words` tell what its lines do not: new, deleted, renamed, binary …"""

    path: str
    words: tuple[str, ...]
    hunks: tuple[Hunk, ...]

    @property
    def binary(self) -> bool:
        return BINARY in self.words

    @property
    def added(self) -> int:
        return sum(row.changed and row.new is not None for hunk in self.hunks for row in hunk.rows)

    @property
    def removed(self) -> int:
        return sum(row.changed and row.old is not None for hunk in self.hunks for row in hunk.rows)


def file_changes(diff: str) -> tuple[FileChange, ...]:
    """Return the files of a diff as git writes it, in its order."""
    lines, found = deque(diff.split("\n")), []
    while lines:
        line = lines.popleft()
        if line.startswith(_FILE):
            found.append(_file(line.removeprefix(_FILE), lines))
    return tuple(found)


def _file(names: str, lines: deque[str]) -> FileChange:
    path, next_old = _unquoted(names[: len(names) // 2], "a/"), 1
    words: list[str] = []
    hunks: list[Hunk] = []
    while lines and not lines[0].startswith(_FILE):
        line = lines.popleft()
        if start := _HUNK.match(line):
            old, old_count, new, new_count = (1 if group is None else int(group) for group in start.groups())
            rows = _rows(_body(lines, old_count, new_count), old, new)
            hunks.append(Hunk(skipped=max(0, old - next_old) if old_count else 0, rows=tuple(rows)))
            next_old = old + old_count
        else:
            path = _named(line) or path
            words += _in_words(line)
    return FileChange(path, tuple(words), tuple(hunks))


def _named(line: str) -> str:
    for head, prefix in (("rename to ", ""), ("+++ ", "b/"), ("--- ", "a/")):
        if line.startswith(head) and not line.endswith("/dev/null"):
            return _unquoted(line.removeprefix(head).rstrip("\t"), prefix)
    return ""


def _unquoted(name: str, prefix: str) -> str:
    bare = name[1:-1] if name.startswith('"') else name
    return bare.removeprefix(prefix)


def _in_words(line: str) -> Iterator[str]:
    head, _, mode = line.rpartition(" ")
    match head:
        case "new file mode":
            yield f"new {_KINDS.get(mode, 'file')}"
        case "deleted file mode":
            yield "deleted"
        case "new mode":
            yield f"now {'an' if mode == EXECUTABLE else 'a plain'} {_KINDS.get(mode, 'file')}"
    if line.startswith("rename from "):
        yield f"renamed from {_unquoted(line.removeprefix('rename from '), '')}"
    if line.startswith(("Binary files ", "GIT binary patch")):
        yield BINARY


def _body(lines: deque[str], old_left: int, new_left: int) -> Iterator[tuple[str, str, bool]]:
    """Yield sign, text and whether a newline ends it; the counts say where the hunk ends, not how its lines look."""
    while lines and (old_left > 0 or new_left > 0):
        line = lines.popleft()
        sign, text = line[:1] or " ", line[1:]
        old_left -= sign in " -"
        new_left -= sign in " +"
        ended = not (lines and lines[0].startswith("\\"))
        if not ended:
            lines.popleft()
        yield sign, text, ended


def _rows(body: Iterator[tuple[str, str, bool]], old: int, new: int) -> Iterator[Row]:
    removed: list[Line] = []
    added: list[Line] = []
    for sign, text, ended in body:
        if sign == "-":
            removed.append(Line(old + len(removed), text, ended))
        elif sign == "+":
            added.append(Line(new + len(added), text, ended))
        else:
            yield from _beside(removed, added)
            old, new = old + len(removed), new + len(added)
            removed, added = [], []
            yield Row(Line(old, text, ended), Line(new, text, ended), changed=False)
            old, new = old + 1, new + 1
    yield from _beside(removed, added)


def _beside(removed: Sequence[Line], added: Sequence[Line]) -> Iterator[Row]:
    """Yield the rows of a block in which every line changed; the lines most alike stand beside each other."""
    alike, i, j = _most_alike(removed, added)
    if alike < ALIKE:
        yield from (Row(old, new, changed=True) for old, new in zip_longest(removed, added))
        return
    yield from _beside(removed[:i], added[:j])
    yield Row(removed[i], added[j], changed=True)
    yield from _beside(removed[i + 1 :], added[j + 1 :])


def _most_alike(removed: Sequence[Line], added: Sequence[Line]) -> tuple[float, int, int]:
    if not 0 < len(removed) * len(added) <= MAX_PAIRS:
        return 0.0, 0, 0
    ratios = (
        (SequenceMatcher(None, old.text, new.text, autojunk=False).ratio(), -i, -j)
        for i, old in enumerate(removed)
        for j, new in enumerate(added)
        if max(len(old.text), len(new.text)) <= MAX_COMPARED_CHARS
    )
    alike, i, j = max(ratios, default=(0.0, 0, 0))
    return alike, -i, -j
