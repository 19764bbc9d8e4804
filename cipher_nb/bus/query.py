"""Which events are asked for, and how to tell from its bytes that a line is none of them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property

from cipher_nb.records import Event, format_ts

_OUR_HEAD = re.compile(rb'\{"type":"[^"\\]*","ts":"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)"')
_SPELLED_OUT = re.compile(r"[\w.:+-]+", re.ASCII)


@dataclass(frozen=True)
class Query:
    """What `read_state` was asked for; `since` is included, `until` is not. None asks for everything."""

    types: frozenset[str] | None = None
    since: datetime | None = None
    until: datetime | None = None
    task: str | None = None
    session: str | None = None
    _needles: tuple[tuple[bytes, ...], ...] = field(init=False, repr=False)
    _is_by_type_alone: bool = field(init=False, repr=False)

    def __post_init__(self) -> None:
        one_of = (self.types, {self.task} if self.task else None, {self.session} if self.session else None)
        needles = tuple(found for words in one_of if (found := _needles(words)) is not None)
        object.__setattr__(self, "_needles", needles)
        others = (self.since, self.until, self.task, self.session)
        object.__setattr__(self, "_is_by_type_alone", all(each is None for each in others))

    @classmethod
    def of(
        cls,
        type: str | Collection[str] | None,
        since: datetime | None = None,
        until: datetime | None = None,
        task: str | None = None,
        session: str | None = None,
    ) -> Query:
        types = None if type is None else frozenset({type} if isinstance(type, str) else type)
        return cls(types, _utc(since), _utc(until), task, session)

    def may_hold(self, text: bytes) -> bool:
        """Tell whether lines in `text` could match; False is certain. Far cheaper than parsing them."""
        hits = (any(word in text for word in words) for words in self._needles)
        return all(hits) or _may_spell(text)

    def candidates(self, chunk: bytes) -> list[bytes]:
        """Return the lines of `chunk` that could match, in their order; the others are passed over, not even split."""
        if not self._needles or _may_spell(chunk):
            return chunk.split(b"\n")
        words = self._needles[-1]
        if len(words) == 1:
            return [line for _, line in _lines_with(words[0], chunk)]
        found = {start: line for word in words for start, line in _lines_with(word, chunk)}
        return [found[start] for start in sorted(found)]

    def matches(self, event: Event) -> bool:
        if self.types is not None and event.type not in self.types:
            return False
        return self._is_by_type_alone or (
            (self.task is None or event.task == self.task)
            and (self.session is None or event.fields.get("session") == self.session)
            and (self.since is None or event.ts >= self.since)
            and (self.until is None or event.ts < self.until)
        )

    def age(self, line: bytes) -> str:
        """Return "older" than `since`, "recent", or "unknown" for a line that is not in our form: parse it to know."""
        head = _OUR_HEAD.match(line)
        if head is None:
            return "unknown"
        return "older" if head[1] < self._since_text else "recent"

    def age_of(self, event: Event) -> str:
        return "older" if self.since and event.ts < self.since else "recent"

    @cached_property
    def _since_text(self) -> bytes:
        return format_ts(self.since).encode() if self.since else b""


def _lines_with(word: bytes, chunk: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield start and bytes of every line that holds `word`; a search for the word is far cheaper than a split."""
    at = chunk.find(word)
    while at >= 0:
        start, end = chunk.rfind(b"\n", 0, at) + 1, chunk.find(b"\n", at)
        end = len(chunk) if end < 0 else end
        yield start, chunk[start:end]
        at = chunk.find(word, end)


def _may_spell(text: bytes) -> bool:
    """Tell whether any word may stand in `text` spelled in hexadecimal, as \\u0061."""
    return b"\\" in text and b"\\u" in text  # the search for one byte is far faster than that for two


def _needles(words: Collection[str] | None) -> tuple[bytes, ...] | None:
    """Return the words as they stand in JSON, or None where JSON may write them in several ways."""
    if words is None or not all(_SPELLED_OUT.fullmatch(word) for word in words):
        return None
    return tuple(f'"{word}"'.encode() for word in words)


def _utc(moment: datetime | None) -> datetime | None:
    return moment.astimezone(UTC) if moment else None
