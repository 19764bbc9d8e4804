"""The log as one: its bytes from the newest to the oldest, whatever files they lie in, and what came after a cursor."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import IO

from cipher_nb.bus.cursor import Cursor, cursor_at, holds, last_purge
from cipher_nb.bus.segments import Segment, closed, segment_blocks_from_end
from cipher_nb.jsonl import BLOCK_BYTES, blocks_from_end, chunks_from_end


def chunks_back(log: Path, before: Cursor | None = None) -> Iterator[bytes]:
    """Yield chunks of whole lines, newest first, from the end of the log or from `before` on backwards.

    Files that are closed, packed or rewritten meanwhile are read as they were when they were opened.
    """
    if before is not None and not before.inode:  # there was no log yet
        return
    with ExitStack() as stack:
        file, segments = _opened(log, stack)
        end = before.offset if before and file and holds(before, file) else None
        if before and end is None and (place := _place(before, segments)) is not None:
            file, segments = None, segments[place:]
            if not segments[0].is_packed:
                file, segments = stack.enter_context(segments[0].open()), segments[1:]
                end = before.offset
        if file:
            yield from chunks_from_end(blocks_from_end(file, end))
        for segment in segments:
            with segment.open() as part:
                yield from chunks_from_end(segment_blocks_from_end(part))


def end_of(log: Path) -> Cursor:
    """Return the cursor behind the last whole line."""
    purge = last_purge(log)
    with ExitStack() as stack:
        file, segments = _opened(log, stack)
        if file is None and segments:
            newest = stack.enter_context(segments[0].open())
            end = newest.seek(0, os.SEEK_END) if segments[0].is_packed else _end_of_lines(newest)
            return cursor_at(newest, end, purge=purge)
        return cursor_at(file, _end_of_lines(file), purge=purge) if file else Cursor(purge=purge)


def lines_after(log: Path, cursor: Cursor) -> tuple[list[bytes], Cursor] | None:
    """Return the whole lines after `cursor`, oldest first, and where to read on from; None for a cursor of another log.

    A last line without its newline is left for the next call.
    """
    if last_purge(log) != cursor.purge:
        return None
    with ExitStack() as stack:
        file, segments = _opened(log, stack)
        if file and holds(cursor, file):
            return _lines_across([file], cursor)
        newer = _newer(cursor, segments)
        if newer is None:
            return None
        files = [stack.enter_context(segment.open()) for segment in newer]
        if newer and newer[0].is_packed:
            files, cursor = files[1:], replace(cursor, offset=0)
        return _lines_across([*files, *([file] if file else [])], cursor)


def _lines_across(files: list[IO[bytes]], cursor: Cursor) -> tuple[list[bytes], Cursor]:
    lines: list[bytes] = []
    for file in files[:-1]:
        file.seek(cursor.offset)
        lines += file.read().split(b"\n")
        cursor = replace(cursor, offset=0)
    for file in files[-1:]:
        file.seek(cursor.offset)
        data = file.read()
        end = data.rfind(b"\n") + 1
        lines += data[:end].split(b"\n")
        cursor = cursor_at(file, cursor.offset + end, purge=cursor.purge)
    return lines, cursor


def _opened(log: Path, stack: ExitStack) -> tuple[IO[bytes] | None, list[Segment]]:
    """Open the written file first, then list the closed ones: what was closed in between is read once, not twice."""
    file = None
    with suppress(FileNotFoundError):
        file = stack.enter_context(log.open("rb"))
    segments = closed(log)
    if file is None:
        return None, segments
    inode = os.fstat(file.fileno()).st_ino
    place = next((place for place, segment in enumerate(segments) if _inode(segment.path) == inode), -1)
    return file, segments[place + 1 :]


def _place(cursor: Cursor, segments: list[Segment]) -> int | None:
    """Return which closed segment `cursor` points into."""
    for place, segment in enumerate(segments):
        with segment.open() as file:
            if holds(cursor, file):
                return place
    return None


def _newer(cursor: Cursor, segments: list[Segment]) -> list[Segment] | None:
    """Return the segment that `cursor` points into and those closed after it, oldest first; None where it is gone."""
    place = _place(cursor, segments) if cursor.inode else len(segments)
    if place is None:
        return None
    newer = segments[: place + 1][::-1]
    packed_since = newer[1:] if cursor.inode else newer
    return None if any(segment.is_packed for segment in packed_since) else newer


def _inode(path: Path) -> int:
    try:
        return path.stat().st_ino
    except FileNotFoundError:
        return -1


def _end_of_lines(file: IO[bytes]) -> int:
    end = file.seek(0, os.SEEK_END)
    while end > 0:
        start = max(0, end - BLOCK_BYTES)
        newline = os.pread(file.fileno(), end - start, start).rfind(b"\n")
        if newline >= 0:
            return start + newline + 1
        end = start
    return 0
