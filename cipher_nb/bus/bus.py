"""The bus itself: append, read, follow, purge."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import islice, takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cipher_nb.bus import lines, segments
from cipher_nb.bus.cursor import Added, Cursor
from cipher_nb.bus.log import chunks_back, end_of, lines_after
from cipher_nb.bus.purge import Purged, Unwanted, purge
from cipher_nb.bus.query import Query
from cipher_nb.bus.sync import IntervalSync
from cipher_nb.config import BusSettings
from cipher_nb.jsonl import BLOCK_BYTES, held, write_line
from cipher_nb.masking import Masker
from cipher_nb.records import Clock, Event, new_id, utc_now

if TYPE_CHECKING:
    from pandas import DataFrame

FOLLOW_POLL_S = 0.25


@dataclass(frozen=True)
class Tail:
    """The end of the log: `cursor` to read on from, and `events` before it, newest first, read as they are taken."""

    cursor: Cursor
    events: Iterator[Event]


class Bus:
    """The events of one workspace: one file that is written, and closed segments where `rotate_mb` is set.

    `skipped` counts the torn and foreign lines that reads met, `dropped` the events that `append` could not write.
    """

    def __init__(self, path: Path, *, settings: BusSettings | None = None, clock: Clock = utc_now) -> None:
        self.skipped = 0
        self.dropped = 0
        self.path = path
        self._settings = settings or BusSettings()
        self._masker = Masker(self._settings.secrets)
        self._sync = IntervalSync(path)
        self._clock = clock

    def append(self, type: str, /, **fields: Any) -> bool:
        """Return True once the event's line is in the file; never raises.

        `ts` (datetime, RFC 3339 text or epoch milliseconds) and `id` are taken from `fields` where given. Secrets are
        masked (`masking.KINDS` says which). An event that lacks a field of its type, or has one of another kind, is
        not written; an `error` event that names the field is. The line outlives this process; `[bus] fsync` says
        whether it outlives a power cut: "always" does, "interval" after a second, "never" makes no promise.
        """
        try:
            trouble = lines.problem(type, fields)
            if trouble is None:
                self._write(self._line(type, fields))
                return True
            self.append("error", source="bus", message=trouble)
        except Exception:  # noqa: BLE001 - whoever reports an event must never fail because of it
            pass
        self.dropped += 1
        return False

    def problem(self, type: str, fields: Mapping[str, Any]) -> str | None:
        """Return why `append` would refuse such an event, or None where it would not."""
        return lines.problem(type, fields)

    def read_state(
        self,
        *,
        type: str | Collection[str] | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        limit: int | None = None,
        task: str | None = None,
        session: str | None = None,
    ) -> list[Event]:
        """Return matching events, newest first: the last line of the log comes first.

        Reads blocks from the end, so the cost follows what is returned, not the size of the bus; lines that cannot
        match are told from their bytes. `since` is included, `until` is not. With `since` it stops after 64 KiB of
        older lines in a row, so lines that writers left slightly out of order are found. A line without a readable
        `ts` counts as written in 1970. Torn and foreign lines are skipped and counted in `skipped`.
        """
        return list(islice(self._matching(Query.of(type, since, until, task, session)), limit))

    def tail(self, *, type: str | Collection[str] | None = None, before: Cursor | None = None) -> Tail:
        """Return where to read on from, and lazily the events before that place, newest first.

        With `before` it is the tail of the log as it stood at that cursor.
        """
        cursor = before or end_of(self.path)
        return Tail(cursor, self._matching(Query.of(type), cursor))

    def read_from(self, cursor: Cursor) -> Added:
        """Return what was appended after `cursor`; costs what was appended.

        A last line without its newline is left for the next call.
        """
        found = lines_after(self.path, cursor)
        if found is None:
            return Added([], Cursor(), afresh=True)
        events = (self._parse(line) for line in found[0] if line)
        return Added([event for event in events if event is not None], found[1])

    def follow(
        self, *, type: str | Collection[str] | None = None, until: Callable[[], bool] = lambda: False
    ) -> Iterator[Event]:
        """Yield events as they come, from this call on, looking four times a second; ends when `until` says so."""
        return self._coming(Query.of(type), self.tail(), until)

    def _coming(self, query: Query, tail: Tail, until: Callable[[], bool]) -> Iterator[Event]:
        newest, cursor = next(tail.events, None), tail.cursor
        while not until():
            added = self.read_from(cursor)
            if added.afresh:  # a purge: what came since stands behind the last event seen
                tail = self.tail()
                added = Added(_later(newest, tail.events), tail.cursor)
            cursor = added.cursor
            for event in added.events:
                newest = event
                if query.matches(event):
                    yield event
            if not added.events:
                time.sleep(FOLLOW_POLL_S)

    def frame(
        self,
        *,
        type: str | Collection[str] | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        limit: int | None = None,
    ) -> DataFrame:
        """Return matching events as a pandas frame, oldest first; see `bus.frame` for its columns.

        A million events take about 7 s and half a gigabyte while they are read; their frame holds 0.15 GB.
        """
        from cipher_nb.bus.frame import frame_of

        return frame_of(islice(self._matching(Query.of(type, since, until)), limit))

    def purge(
        self,
        *,
        ids: Collection[str] = (),
        tasks: Collection[str] = (),
        before: datetime | None = None,
        everything: bool = False,
    ) -> Purged:
        """Remove events for good, and return what was removed.

        Each file is rewritten atomically under the lock that writers honour; killed half-way, the same call finishes
        it. Cursors taken before are noticed as such. With `everything` torn and foreign lines go as well.
        """
        return purge(self.path, Unwanted.of(ids, tasks, before, everything=everything))

    def pack(self) -> list[Path]:
        """Compress closed segments, all but the newest, and return the new files."""
        return segments.pack_closed(self.path)

    def _line(self, type: str, fields: Mapping[str, Any]) -> bytes:
        rest = dict(fields)
        ts = lines.moment(rest.pop("ts", None)) or self._clock()
        name = rest.pop("id", "") or new_id(ts)
        return lines.to_line(Event(type, ts, name, self._masker.value(rest)))

    def _write(self, line: bytes) -> None:
        limit = self._settings.rotate_mb * 1_000_000
        with held(self.path) as handle:
            full = 0 < limit <= os.fstat(handle).st_size
            if not full:
                self._write_durably(handle, line)
                return
            if self._settings.fsync != "never":
                os.fsync(handle)
            segments.close(self.path)
        with held(self.path) as handle:
            self._write_durably(handle, line)

    def _write_durably(self, handle: int, line: bytes) -> None:
        write_line(handle, line)
        if self._settings.fsync == "always":
            os.fsync(handle)
        elif self._settings.fsync == "interval":
            self._sync.touched()

    def _matching(self, query: Query, before: Cursor | None = None) -> Iterator[Event]:
        if query.types is not None and not query.types:
            return iter(())
        return self._recent_matching(query, before) if query.since else self._all_matching(query, before)

    def _all_matching(self, query: Query, before: Cursor | None) -> Iterator[Event]:
        parse, matches = self._parse, query.matches
        for chunk in chunks_back(self.path, before):
            for line in reversed(query.candidates(chunk)):
                event = parse(line)
                if event is not None and matches(event):
                    yield event

    def _recent_matching(self, query: Query, before: Cursor | None) -> Iterator[Event]:
        older_bytes = 0
        for chunk in chunks_back(self.path, before):
            for line in reversed(chunk.split(b"\n")):
                age = query.age(line)
                asked = age == "recent" and query.may_hold(line)
                event = self._parse(line) if asked or age == "unknown" else None
                if event is not None:
                    age = query.age_of(event)
                    if query.matches(event):
                        yield event
                older_bytes = 0 if age == "recent" else older_bytes + (len(line) + 1) * (age == "older")
                if older_bytes > BLOCK_BYTES:
                    return

    def _parse(self, line: bytes) -> Event | None:
        event = lines.from_line(line)
        if event is None and line.strip():
            self.skipped += 1
        return event


def _later(seen: Event | None, newest_first: Iterator[Event]) -> list[Event]:
    """Return, oldest first, the events that came after `seen`, which may be gone itself."""
    later = takewhile(lambda event: seen is None or (event.ts, event.id) > (seen.ts, seen.id), newest_first)
    return list(later)[::-1]
