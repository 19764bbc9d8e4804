"""From events to `[learned]` lines: what the operator approved often enough to tell the model."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from cipher_nb.records import Event

NEWEST = 500
MAX_PATTERN_CHARS = 120

_INVISIBLE = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]")
_HEADING_NAMES = "doctrine|memory|learned|workspace|context|system|user|assistant|tool|inst"
_HEADING = re.compile(
    rf"(?<!\w)\[(\s*/?\s*(?:{_HEADING_NAMES})\b[^\[\]]*)\]?"  # anywhere, but not dict[tool, int]
    r"|^\[(\s*[^\W\d][^\[\]]*)\]?",  # whatever stands first, but not []
    re.IGNORECASE,
)
_ROLE_MARK = re.compile(r"<(?=\||/?s>|/?(?:start|end)_of_turn)", re.IGNORECASE)


@dataclass(frozen=True)
class LearnedLine:
    """A pattern that was voted on `count` times, `approved` of them for it; `rate` is approved / count."""

    pattern: str
    approved: int
    count: int
    rate: float
    newest: datetime

    @property
    def line(self) -> str:
        return f"[learned] {self.pattern}"


@dataclass(frozen=True)
class _Vote:
    pattern: str
    approves: bool
    ts: datetime
    id: str


def learned(
    events: Iterable[Event], *, min_count: int = 3, limit: int = 15, min_rate: float = 0.6
) -> list[LearnedLine]:
    """Return the patterns worth telling the model, best first.

    Looks at the newest 500 approvals and the newest 500 rejections by time, whatever order `events` come in; events
    of one moment without ids count in the order given. A preference is an approval (`prefer`) or a rejection
    (`avoid`). Order: approvals, then the newest vote, then text.
    """
    return _ranked(_newest(_votes(events)), min_count, limit, min_rate)


class LearnedView:
    """The learned lines of a growing log, at the cost of what was added since the last look.

    `read_from` is `Bus.read_from`. Equal to `learned` over the whole log; when the log has become shorter the view
    starts afresh.
    """

    def __init__(self, read_from: Callable[[int], tuple[list[Event], int]]) -> None:
        self._read_from = read_from
        self._offset = 0
        self._kept: list[_Vote] = []

    def lines(self, *, min_count: int = 3, limit: int = 10, min_rate: float = 0.6) -> list[LearnedLine]:
        events, offset = self._read_from(self._offset)
        kept = self._kept if offset >= self._offset else []
        self._kept, self._offset = _newest([*kept, *_votes(events)]), offset
        return _ranked(self._kept, min_count, limit, min_rate)


def plain_pattern(text: str) -> str:
    """Return `text` as one printable line of at most 120 characters that reads as no section, role or turn of its own.

    Control, bidi and invisible characters go, white space is collapsed, and a bracketed heading or a chat template's
    mark is written with parentheses.
    """
    visible = _INVISIBLE.sub("", "".join(char if char.isprintable() else " " * char.isspace() for char in text))
    folded = " ".join(unicodedata.normalize("NFKC", visible).split())
    inert = _ROLE_MARK.sub("(", _HEADING.sub(lambda heading: f"({heading[1] or heading[2]})", folded))
    return inert if len(inert) <= MAX_PATTERN_CHARS else inert[: MAX_PATTERN_CHARS - 3].rstrip() + "..."


def _votes(events: Iterable[Event]) -> Iterator[_Vote]:
    for event in events:
        approves = _approves(event)
        if approves is not None:
            yield _Vote(plain_pattern(event.pattern), approves, event.ts, event.id)


def _approves(event: Event) -> bool | None:
    if event.type == "preference":
        return {"prefer": True, "avoid": False}.get(str(event.fields.get("direction")))
    return {"approval": True, "rejection": False}.get(event.type)


def _newest(votes: Iterable[_Vote]) -> list[_Vote]:
    ordered = sorted(votes, key=lambda vote: (vote.ts, vote.id))
    approvals = [vote for vote in ordered if vote.approves]
    rejections = [vote for vote in ordered if not vote.approves]
    return approvals[-NEWEST:] + rejections[-NEWEST:]


def _ranked(votes: Iterable[_Vote], min_count: int, limit: int, min_rate: float) -> list[LearnedLine]:
    groups: defaultdict[str, list[_Vote]] = defaultdict(list)
    for vote in votes:
        if vote.pattern:
            groups[vote.pattern].append(vote)
    lines = [_line(pattern, group) for pattern, group in groups.items()]
    kept = [line for line in lines if line.count >= min_count and line.rate >= min_rate]
    kept.sort(key=lambda line: line.pattern)
    kept.sort(key=lambda line: (line.approved, line.newest), reverse=True)
    return kept[:limit]


def _line(pattern: str, votes: list[_Vote]) -> LearnedLine:
    approved = sum(vote.approves for vote in votes)
    return LearnedLine(pattern, approved, len(votes), approved / len(votes), max(vote.ts for vote in votes))
