"""Removing events for good."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from cipher_nb.bus import packed
from cipher_nb.bus.cursor import note_purge
from cipher_nb.bus.lines import from_line
from cipher_nb.bus.segments import closed, segment_blocks_from_end
from cipher_nb.files import locked
from cipher_nb.jsonl import rewrite

if TYPE_CHECKING:
    from cipher_nb.records import Event


@dataclass(frozen=True)
class Unwanted:
    """Which events go: those with these ids, of these tasks, older than `before`, or all."""

    ids: frozenset[str] = frozenset()
    tasks: frozenset[str] = frozenset()
    before: datetime | None = None
    everything: bool = False

    @classmethod
    def of(
        cls,
        ids: Collection[str] = (),
        tasks: Collection[str] = (),
        before: datetime | None = None,
        *,
        everything: bool = False,
    ) -> Unwanted:
        moment = before.astimezone(UTC) if before else None
        return cls(frozenset(ids), frozenset(tasks) - {""}, moment, everything)

    def matches(self, event: Event) -> bool:
        aged = self.before is not None and event.ts < self.before
        return aged or event.id in self.ids or event.task in self.tasks


@dataclass
class Purged:
    """What was removed: how many lines, and the ids and tasks of those that were events."""

    count: int = 0
    ids: set[str] = field(default_factory=set)
    tasks: set[str] = field(default_factory=set)


def purge(log: Path, unwanted: Unwanted) -> Purged:
    """Rewrite every file of the log without the unwanted events; the written file first, so that none slips past."""
    purged = Purged()
    keep = _keeper(unwanted, purged)
    with locked(log.with_name(f"{log.name}.segments")):
        note_purge(log)
        rewrite(log, keep)
        for segment in closed(log):
            if segment.is_packed:
                _repack(segment.path, keep)
            else:
                rewrite(segment.path, keep)
        note_purge(log)
    return purged


def _keeper(unwanted: Unwanted, purged: Purged) -> Callable[[bytes], bool]:
    def keep(line: bytes) -> bool:
        event = from_line(line)
        if not unwanted.everything and (event is None or not unwanted.matches(event)):
            return True
        purged.count += 1
        if event is not None:
            purged.ids.add(event.id)
            purged.tasks.add(event.task)
        return False

    return keep


def _repack(path: Path, keep: Callable[[bytes], bool]) -> None:
    lines = list(_lines(path))
    kept = [line for line in lines if keep(line.rstrip(b"\n"))]
    if not kept:
        path.unlink()
    elif len(kept) < len(lines):
        packed.pack(kept, path)


def _lines(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        for block in reversed(list(segment_blocks_from_end(file))):
            yield from block.splitlines(keepends=True)
