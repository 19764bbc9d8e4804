"""What goes, and how to tell what came from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cipher_nb.bus import Bus, Unwanted
from cipher_nb.files import read_json, write_json
from cipher_nb.jsonl import parse_object
from cipher_nb.records import made_at

NOTE = "purging.json"
"""Lies in `.aide/` while a purge runs, and where one was cut short: the ids of its events."""


@dataclass(frozen=True)
class Doomed:
    """What is unwanted, and the ids of all events that are."""

    unwanted: Unwanted
    ids: frozenset[str]

    def has_task(self, task: str) -> bool:
        """Tell whether all of a task goes: by its id, or since it was begun before the moment."""
        if self.unwanted.everything or task in self.unwanted.tasks:
            return True
        made = made_at(task)
        return self.unwanted.before is not None and made is not None and made < self.unwanted.before

    def made(self, row: Mapping[str, Any]) -> bool:
        """Tell whether what names its task and its events came from what goes: a pair, wherever it is written down.

        Practice and replay name neither, and are nobody's work.
        """
        task, events = row.get("task"), row.get("event_ids")
        task, events = task if isinstance(task, str) else "", events if isinstance(events, list) else []
        if not task and not events:
            return False
        return self.has_task(task) or not self.ids.isdisjoint(map(str, events))

    def made_line(self, line: bytes) -> bool:
        """Tell the same of a line of JSONL; a torn or foreign one did not."""
        row = parse_object(line)
        return row is not None and self.made(row)

    def made_some_of(self, path: Path) -> bool:
        """Tell it of any line of a JSONL file."""
        return path.exists() and any(map(self.made_line, path.read_bytes().splitlines()))


def doom(unwanted: Unwanted, *, bus: Bus, note: Path) -> Doomed:
    """Return what goes, noted down before any of it does, with what an earlier purge noted and did not finish.

    So a purge that dies half-way finds what came from an event that is gone already, when it is asked for again.
    """
    older = bus.read_state(until=unwanted.before) if unwanted.before else ()
    noted = read_json(note) if note.exists() else ()
    doomed = Doomed(unwanted, frozenset({*unwanted.ids, *noted, *(event.id for event in older)} - {""}))
    write_json(note, sorted(doomed.ids))
    return doomed
