"""What a question shows of a file: all of it, or the lines around the names that the intent speaks of."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

_NAME = re.compile(r"[A-Za-z_]\w*")
_CODE_LIKE = re.compile(r"_|\d|[a-z][A-Z]")
_DEFINITION = re.compile(
    r"^\s*(?:(?:async|pub|export|default|static|public|private)\s+)*"
    r"(?:def|class|func|function|fn|const|let|var|struct|enum|trait|interface|type)\s+(?:\([^)]*\)\s*)?(\w+)"
    r"|^(\w+)\s*(?::[^=]+)?="
)


@dataclass(frozen=True)
class Excerpt:
    """Lines `first` to `last` of a text, counted from 1."""

    first: int
    last: int
    text: str


def excerpts(text: str, *, intent: str, fits: Callable[[Sequence[Excerpt]], bool]) -> tuple[Excerpt, ...]:
    """Return as much of `text` as `fits` lets in: all of it, else whole lines around what `intent` speaks of.

    Those are the definitions of the names in it, else its code-like names, else the beginning. None where not even one
    line fits.
    """
    lines = text.split("\n")
    whole = (Excerpt(1, len(lines), text),)
    if fits(whole):
        return whole
    places = _places(lines, intent) or [0]
    while places and not fits(_windows(lines, places, 0)):
        places = places[: len(places) // 2]
    if not places:
        return ()
    fitting, too_many = 0, len(lines)
    while too_many - fitting > 1:
        middle = (fitting + too_many) // 2
        if fits(_windows(lines, places, middle)):
            fitting = middle
        else:
            too_many = middle
    return tuple(_windows(lines, places, fitting))


def _places(lines: Sequence[str], intent: str) -> list[int]:
    names = set(_NAME.findall(intent))
    defining = [number for number, line in enumerate(lines) if _defined(line) in names]
    return defining or _holding(lines, {name for name in names if _CODE_LIKE.search(name)})


def _defined(line: str) -> str | None:
    match = _DEFINITION.match(line)
    return match[1] or match[2] if match else None


def _holding(lines: Sequence[str], names: AbstractSet[str]) -> list[int]:
    return [number for number, line in enumerate(lines) if names & set(_NAME.findall(line))] if names else []


def _windows(lines: Sequence[str], places: Iterable[int], size: int) -> list[Excerpt]:
    """Return the lines from a few before each place to `size` behind it; windows that meet are one."""
    spans: list[tuple[int, int]] = []
    for place in places:
        start, end = max(0, place - size // 4), min(len(lines), place + size + 1)
        if spans and start <= spans[-1][1]:
            start, _ = spans.pop()
        spans.append((start, end))
    return [Excerpt(start + 1, end, "\n".join(lines[start:end])) for start, end in spans]


def notebook_as_text(data: bytes) -> str:
    """Return a notebook's cells with their ids, without its outputs; raises ValueError for what is no notebook."""
    notebook = json.loads(data)
    if not isinstance(notebook, dict) or not isinstance(notebook.get("cells"), list):
        raise ValueError("no cells in it")
    return "\n".join(map(_cell_as_text, notebook["cells"]))


def _cell_as_text(cell: object) -> str:
    if not isinstance(cell, dict):
        raise ValueError("a cell is no object")
    source = cell.get("source", "")
    text = "".join(map(str, source)) if isinstance(source, list) else str(source)
    return f"# %% cell {cell.get('id', 'without an id')} ({cell.get('cell_type', 'code')})\n{text}"
