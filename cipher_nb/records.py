"""The two records everything starts from: an event on the bus and a turn of a conversation."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

Clock = Callable[[], datetime]

UNDATED = datetime(1970, 1, 1, tzinfo=UTC)
"""Stands in for a time that a line does not tell: never recent, whatever `since` asks for."""

_MADE_ID = re.compile("[0-9a-f]{22}")

EVENT_FIELDS: Mapping[str, tuple[str, ...]] = {
    "approval": ("tool", "pattern", "summary"),
    "rejection": ("tool", "pattern", "summary"),
    "abort": ("tool", "pattern", "summary"),
    "ship": ("commit_sha", "files_count", "intent"),
    "gate": ("gate", "passed", "duration_ms"),
    "phase": ("from", "to", "engine"),
    "preference": ("pattern", "direction"),
    "error": ("source", "message"),
}


@dataclass(frozen=True)
class Event:
    """One line of the bus. `fields` holds everything but type, ts and id, unknown keys included."""

    type: str
    ts: datetime
    id: str = ""
    fields: Mapping[str, Any] = field(default_factory=dict)

    @property
    def task(self) -> str:
        return _text(self.fields.get("task"))

    @property
    def pattern(self) -> str:
        return _text(self.fields.get("pattern"))

    def to_json(self) -> dict[str, Any]:
        """Return the flat object that stands on the bus."""
        return {"type": self.type, "ts": format_ts(self.ts), "id": self.id, **self.fields}


@dataclass(frozen=True)
class Turn:
    """One question to the model and its answer.

    `kind` is "chat" or "proposal"; `attempt` counts a task's proposals from 1; `adapter` is what answered ("base"
    or an adapter's id). `finish` says why the reply ends: "stop" (it was done), "length" (cut off by a token limit),
    "aborted" (the operator stopped it) or "tool_calls".
    """

    id: str
    ts: datetime
    task: str
    kind: str
    messages: tuple[Mapping[str, str], ...]
    reply: str
    model: str = ""
    adapter: str = "base"
    attempt: int = 1
    session: str = ""
    finish: str = "stop"

    def to_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "ts": format_ts(self.ts),
            "task": self.task,
            "kind": self.kind,
            "messages": [dict(message) for message in self.messages],
            "reply": self.reply,
            "model": self.model,
            "adapter": self.adapter,
            "attempt": self.attempt,
            "session": self.session,
            "finish": self.finish,
        }


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def utc_now() -> datetime:
    return datetime.now(UTC)


def new_id(now: datetime) -> str:
    """Return an id that is unique and sorts by time (to the millisecond): 12 hex digits of time, 10 of chance."""
    return f"{int(now.timestamp() * 1000):012x}{secrets.token_hex(5)}"


def made_at(name: str) -> datetime | None:
    """Return when `new_id` made this id, to the millisecond; None for an id of another kind."""
    return parse_ts(int(name[:12], 16)) if _MADE_ID.fullmatch(name) else None


def format_ts(moment: datetime) -> str:
    """Return RFC 3339 in UTC with milliseconds and Z, e.g. 2026-11-30T09:59:48.123Z."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def parse_ts(value: object) -> datetime | None:
    """Return the moment in UTC behind an RFC 3339 text or epoch milliseconds, or None for anything else."""
    try:
        if isinstance(value, str):
            moment = datetime.fromisoformat(value)
            if moment.tzinfo is UTC:
                return moment
            return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return datetime.fromtimestamp(value / 1000, UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return None
