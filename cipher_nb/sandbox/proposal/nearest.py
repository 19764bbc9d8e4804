"""Where in a file a passage was probably meant to stand: told to who misquoted it, never acted on."""

from __future__ import annotations

import heapq
import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import accumulate

LOOKED_AT_CHARS = 2_000_000
COMPARED_CHARS = 600
MOST_CANDIDATES = 5
LEAST_RATIO = 0.5
SHOWN_CHARS = 100

_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class Near:
    """The nearest passage: its lines, counted from 1, and the first that differs, with what was wanted there."""

    first: int
    last: int
    differs: int
    found: str
    wanted: str

    def __str__(self) -> str:
        lines = f"line {self.first}" if self.first == self.last else f"lines {self.first}-{self.last}"
        return f"nearest is {lines}, where line {self.differs} is {short(self.found)}, not {short(self.wanted)}"


def short(line: str) -> str:
    """Return one line of a file or a reply as an error shows it."""
    return repr(line) if len(line) <= SHOWN_CHARS else f"{line[:SHOWN_CHARS]!r}…"


def nearest(body: str, wanted: str) -> Near | None:
    """Return the passage of `body` most like `wanted`, or None where nothing is like it.

    Only the first 2,000,000 characters are looked at; the time is linear in them.
    """
    lines, sought = body[:LOOKED_AT_CHARS].split("\n"), wanted.strip("\n").split("\n")
    ratio, start = max(
        ((_likeness(lines, start, sought), -start) for start in _candidates(lines, sought)), default=(0, 0)
    )
    if ratio < LEAST_RATIO:
        return None
    found = lines[-start : -start + len(sought)]
    at = next((n for n, (mine, theirs) in enumerate(zip(found, sought, strict=False)) if mine != theirs), None)
    if at is None:
        return None
    return Near(1 - start, len(found) - start, at + 1 - start, found[at], sought[at])


def _candidates(lines: Sequence[str], sought: Sequence[str]) -> list[int]:
    """Return the places whose lines share most words with those sought."""
    words, whole = set(_WORD.findall("\n".join(sought))), {line.strip() for line in sought} - {""}
    scores = (len(words.intersection(_WORD.findall(line))) + (line.strip() in whole) for line in lines)
    sums = list(accumulate(scores, initial=0))
    windows = range(max(1, len(lines) - len(sought) + 1))
    best = heapq.nlargest(MOST_CANDIDATES, windows, key=lambda at: sums[min(at + len(sought), len(lines))] - sums[at])
    return [at for at in best if sums[min(at + len(sought), len(lines))] > sums[at]]


def _likeness(lines: Sequence[str], start: int, sought: Sequence[str]) -> float:
    """Return from 0 to 1 how like the passages are; a single line may be a piece of the line it was taken from."""
    mine, theirs = "\n".join(lines[start : start + len(sought)]), "\n".join(sought)
    matcher = SequenceMatcher(None, mine[:COMPARED_CHARS], theirs[:COMPARED_CHARS], autojunk=False)
    if len(sought) > 1:
        return matcher.ratio()
    in_common = sum(block.size for block in matcher.get_matching_blocks() if block.size > 1)
    return in_common / max(1, len(theirs[:COMPARED_CHARS]))
