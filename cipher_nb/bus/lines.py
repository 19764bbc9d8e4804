"""One event, one line: what may be written, how it is written, and what a line of any program means."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import orjson

from cipher_nb.records import EVENT_FIELDS, UNDATED, Event, parse_ts

VOTES = ("approval", "rejection", "abort")
DIRECTIONS = ("prefer", "avoid")

_OLDER_NAMES = {"path": "pattern", "decision": "summary", "reason": "summary"}
_PLAIN_JSON = orjson.OPT_PASSTHROUGH_DATETIME | orjson.OPT_PASSTHROUGH_DATACLASS
_TEXTS = {"tool", "pattern", "summary", "commit_sha", "intent", "gate", "from", "to", "engine", "source", "message"}
_COUNTS = {"files_count", "duration_ms"}


def problem(type: str, fields: Mapping[str, Any]) -> str | None:
    """Return why such an event is not written, naming the field and the way out, or None where it may be."""
    if not isinstance(type, str) or not type or "type" in fields:
        return f"event of type {type!r} was not written; a type is a text, given once"
    missing = [name for name in EVENT_FIELDS.get(type, ()) if name not in fields]
    if missing:
        return f"{type} event without {', '.join(missing)} was not written; give every field of its type"
    for name in EVENT_FIELDS.get(type, ()):
        wanted = _wanted(name, fields[name])
        if wanted:
            return f"{type} event with {name} {fields[name]!r:.80} was not written; {name} is {wanted}"
    if "ts" in fields and moment(fields["ts"]) is None:
        return f"{type} event with ts {fields['ts']!r:.80} was not written; give RFC 3339 or epoch milliseconds"
    if not isinstance(fields.get("id", ""), str):
        return f"{type} event with id {fields['id']!r:.80} was not written; an id is a text"
    return None


def to_line(event: Event) -> bytes:
    """Return the event as JSON; raises TypeError or ValueError where a field is no JSON."""
    line = orjson.dumps(event.to_json(), option=_PLAIN_JSON)
    if not _is_finite(event.fields):
        raise ValueError("NaN and infinity are not JSON")
    return line


def from_line(line: bytes) -> Event | None:
    """Return the event of a line, older field names read as the newer ones; None for a torn or foreign line."""
    try:
        row = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None
    kind = row.pop("type", None) if isinstance(row, dict) else None
    if not isinstance(kind, str) or not kind:
        return None
    ts, name = parse_ts(row.pop("ts", None)), row.pop("id", "")
    if kind in VOTES and not ("pattern" in row and "summary" in row):
        for older, newer in _OLDER_NAMES.items():
            if older in row:
                row.setdefault(newer, row[older])
    return Event(kind, ts or UNDATED, name if isinstance(name, str) else str(name), row)


def moment(value: object) -> datetime | None:
    """Return the moment behind a datetime, an RFC 3339 text or epoch milliseconds."""
    return value if isinstance(value, datetime) else parse_ts(value)


def _wanted(name: str, value: object) -> str:
    """Return what a known field has to be, "" where it is that."""
    if name in _TEXTS and not isinstance(value, str):
        return "a text"
    if name in _COUNTS and (isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0):
        return "a number from 0 up"
    if name == "passed" and not isinstance(value, bool):
        return "true or false"
    if name == "direction" and value not in DIRECTIONS:
        return f"one of {', '.join(DIRECTIONS)}"
    return ""


def _is_finite(value: object) -> bool:
    if isinstance(value, Mapping):
        return all(_is_finite(item) for item in value.values())
    if isinstance(value, list | tuple):
        return all(_is_finite(item) for item in value)
    return not isinstance(value, float) or math.isfinite(value)
