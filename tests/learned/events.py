"""Votes for the tests of the learned lines."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from cipher_nb.records import Event

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


def at(minute: int) -> datetime:
    return NOON + timedelta(minutes=minute)


def votes(pattern: object, approvals: int, rejections: int = 0, *, minute: int = 0) -> list[Event]:
    """Return so many votes of one moment, newest first: the approvals, then the rejections."""
    kinds = ["approval"] * approvals + ["rejection"] * rejections
    return [Event(kind, at(minute), fields={"pattern": pattern}) for kind in kinds]


def preference(pattern: str, direction: object, *, minute: int = 0) -> Event:
    return Event("preference", at(minute), fields={"pattern": pattern, "direction": direction})
