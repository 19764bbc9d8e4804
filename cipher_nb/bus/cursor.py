"""A place in the log to read on from, which notices when the file is not the same any more."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from cipher_nb.files import write_atomic
from cipher_nb.records import Event

MARK_BYTES = 48


@dataclass(frozen=True)
class Cursor:
    """Behind the line that ends at byte `offset` of the file `inode`; `mark` is what stands before that place.

    A replaced file has other bytes there, or another inode. `purge` is the last one when the cursor was taken.
    """

    inode: int = 0
    offset: int = 0
    mark: bytes = b""
    purge: int = 0


@dataclass(frozen=True)
class Added:
    """What came after a cursor: `events` oldest first, and where to read on from.

    `afresh`: the log was rewritten or replaced. `events` is empty then and the cursor is as good as none: whoever kept
    something begins again with `Bus.tail`.
    """

    events: list[Event]
    cursor: Cursor
    afresh: bool = False


def cursor_at(file: IO[bytes], offset: int, *, purge: int) -> Cursor:
    """Return the cursor behind byte `offset` of an open file."""
    start = max(0, offset - MARK_BYTES)
    mark = os.pread(file.fileno(), offset - start, start)
    return Cursor(os.fstat(file.fileno()).st_ino, offset, mark, purge)


def holds(cursor: Cursor, file: IO[bytes]) -> bool:
    """Tell whether the open file is still the one that the cursor points into."""
    if os.fstat(file.fileno()).st_ino != cursor.inode:
        return False
    return os.pread(file.fileno(), len(cursor.mark), cursor.offset - len(cursor.mark)) == cursor.mark


def note_purge(log: Path) -> None:
    """Let every cursor taken before be noticed as such, whichever file it points into."""
    write_atomic(_purge_note(log), "Events were removed from the log beside this file; its readers begin afresh.\n")


def last_purge(log: Path) -> int:
    """Return what changes with every purge of `log`; 0 where there was none."""
    try:
        return _purge_note(log).stat().st_mtime_ns
    except FileNotFoundError:
        return 0


def _purge_note(log: Path) -> Path:
    return log.with_name(f".{log.name}.purged")
