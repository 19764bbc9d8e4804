"""The state bus: what the operator and the machine did, one JSON object a line, append-only, open to other programs."""

from __future__ import annotations

import math
import os
from collections.abc import Collection, Iterator, Mapping
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import IO, Any

import orjson

from cipher_nb import files
from cipher_nb.records import EVENT_FIELDS, UNDATED, Clock, Event, new_id, parse_ts, utc_now

BLOCK_BYTES = 64 * 1024

_OLDER_NAMES = {"path": "pattern", "decision": "summary", "reason": "summary"}
_PLAIN_JSON = orjson.OPT_PASSTHROUGH_DATETIME | orjson.OPT_PASSTHROUGH_DATACLASS


class Bus:
    """The events of one workspace, as they stand in one file.

    `skipped` counts the torn and foreign lines that reads met, `dropped` the events that `append` could not write.
    """

    def __init__(self, path: Path, *, clock: Clock = utc_now) -> None:
        self.skipped = 0
        self.dropped = 0
        self._path = path
        self._clock = clock

    def append(self, type: str, /, **fields: Any) -> bool:
        """Return True once the event's line is in the file; never raises.

        `ts` (datetime, RFC 3339 text or epoch milliseconds) and `id` are taken from `fields` where given. An event
        that lacks a field of its type is not written; an `error` event that names the field is. The line outlives
        this process, not a power cut.
        """
        try:
            problem = _problem(type, fields)
            if problem is None:
                files.append_line(self._path, self._line(type, fields))
                return True
            self.append("error", source="bus", message=problem)
        except Exception:  # noqa: BLE001 - whoever reports an event must never fail because of it
            pass
        self.dropped += 1
        return False

    def _line(self, type: str, fields: Mapping[str, Any]) -> bytes:
        rest = dict(fields)
        ts = _moment(rest.pop("ts", None)) or self._clock()
        event = Event(type, ts, rest.pop("id", "") or new_id(ts), rest)
        line = orjson.dumps(event.to_json(), option=_PLAIN_JSON)
        if not _is_finite(rest):
            raise ValueError("NaN and infinity are not JSON")
        return line

    def read_state(
        self,
        *,
        type: str | Collection[str] | None = None,
        since: datetime | None = None,
        limit: int | None = None,
        task: str | None = None,
    ) -> list[Event]:
        """Return matching events, newest first: the last line of the file comes first.

        Reads blocks from the end of the file, so the cost follows what is returned, not the size of the bus. With
        `since` it stops after 64 KiB of older lines in a row, so lines that writers left slightly out of order are
        found. A line without a readable `ts` counts as written in 1970. Torn and foreign lines are skipped and
        counted in `skipped`.
        """
        kinds = {type} if isinstance(type, str) else type
        matching = (
            event
            for event in self._back_to(since)
            if (kinds is None or event.type in kinds) and (task is None or event.task == task)
        )
        return list(islice(matching, limit))

    def read_from(self, offset: int) -> tuple[list[Event], int]:
        """Return the events whose lines are complete after byte `offset`, oldest first, and where to go on from.

        A last line without its newline is left for the next call. A file shorter than `offset` is another file by
        now: it is read from its start.
        """
        try:
            with self._path.open("rb") as file:
                start = offset if offset <= file.seek(0, os.SEEK_END) else 0
                file.seek(start)
                data = file.read()
        except FileNotFoundError:
            return [], 0
        complete = data[: data.rfind(b"\n") + 1]
        events = (self._parse(line) for line in complete.split(b"\n"))
        return [event for event in events if event is not None], start + len(complete)

    def _back_to(self, since: datetime | None) -> Iterator[Event]:
        try:
            file = self._path.open("rb")
        except FileNotFoundError:
            return
        older_bytes = 0
        with file:
            for line in _lines_from_end(file):
                event = self._parse(line)
                if event is None:
                    continue
                if since is None or event.ts >= since.astimezone(UTC):
                    older_bytes = 0
                    yield event
                    continue
                older_bytes += len(line) + 1
                if older_bytes > BLOCK_BYTES:
                    return

    def _parse(self, line: bytes) -> Event | None:
        if not line.strip():
            return None
        event = _event(line)
        self.skipped += event is None
        return event


def _problem(type: str, fields: Mapping[str, Any]) -> str | None:
    missing = [name for name in EVENT_FIELDS.get(type, ()) if name not in fields]
    if missing:
        return f"{type} event without {', '.join(missing)} was not written; give every field of its type"
    if not isinstance(type, str) or not type or "type" in fields:
        return f"event of type {type!r} was not written; a type is a text, given once"
    if "ts" in fields and _moment(fields["ts"]) is None:
        return f"{type} event with ts {fields['ts']!r} was not written; give RFC 3339 or epoch milliseconds"
    if not isinstance(fields.get("id", ""), str):
        return f"{type} event with id {fields['id']!r} was not written; an id is a text"
    return None


def _moment(value: object) -> datetime | None:
    return value if isinstance(value, datetime) else parse_ts(value)


def _is_finite(value: object) -> bool:
    if isinstance(value, Mapping):
        return all(_is_finite(item) for item in value.values())
    if isinstance(value, list | tuple):
        return all(_is_finite(item) for item in value)
    return not isinstance(value, float) or math.isfinite(value)


def _event(line: bytes) -> Event | None:
    try:
        row = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None
    kind = row.pop("type", None) if isinstance(row, dict) else None
    if not isinstance(kind, str) or not kind:
        return None
    ts, name = parse_ts(row.pop("ts", None)), row.pop("id", "")
    return Event(kind, ts or UNDATED, str(name), _with_newer_names(kind, row))


def _with_newer_names(kind: str, row: dict[str, Any]) -> dict[str, Any]:
    if "pattern" in EVENT_FIELDS.get(kind, ()) and kind != "preference":
        for older, newer in _OLDER_NAMES.items():
            if older in row:
                row.setdefault(newer, row[older])
    return row


def _lines_from_end(file: IO[bytes]) -> Iterator[bytes]:
    position = file.seek(0, os.SEEK_END)
    pieces: list[bytes] = []  # of the line whose beginning is still unread, its end first
    while position > 0:
        size = min(BLOCK_BYTES, position)
        position -= size
        file.seek(position)
        first, *others = file.read(size).split(b"\n")
        if others:
            yield others.pop() + b"".join(reversed(pieces))
            yield from reversed(others)
            pieces = []
        pieces.append(first)
    yield b"".join(reversed(pieces))
