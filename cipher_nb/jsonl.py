"""JSONL files that grow at their end: one object a line, appended under a lock, read from the end, rewritten whole."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import IO, Any

import orjson

from cipher_nb.files import scratch_beside, sync_folder

BLOCK_BYTES = 64 * 1024
LOCK_TIMEOUT_S = 30.0
LATE_WRITE_S = 0.05
"""How long a rewrite waits for writers that take no lock and opened the file before it was replaced."""


def append_line(path: Path, line: bytes, *, durable: bool = False) -> None:
    """Append one line with a single write, under a lock that other processes of ours honour.

    A file that does not end in a newline (a writer died) gets one first, so that a crash costs only its own line.
    With `durable` the line is on disk when this returns. Raises OSError, a TimeoutError when the lock is held for 30 s.
    """
    with held(path) as handle:
        write_line(handle, line)
        if durable:
            os.fsync(handle)


@contextmanager
def held(path: Path, *, timeout_s: float = LOCK_TIMEOUT_S) -> Iterator[int]:
    """Hold the lock of `path` (flock on the file itself) and yield a handle that reads and appends.

    The file is made where it is missing. The kernel releases the lock when its holder dies.
    """
    handle = _open_locked(path, time.monotonic() + timeout_s)
    try:
        yield handle
    finally:
        os.close(handle)


def write_line(handle: int, line: bytes) -> None:
    """Append `line` to a file that is held; a torn last line is ended first."""
    size = os.fstat(handle).st_size
    torn = size > 0 and os.pread(handle, 1, size - 1) != b"\n"
    rest = memoryview(b"\n" * torn + line.rstrip(b"\n") + b"\n")
    while rest:  # one write, unless the disk takes less
        rest = rest[os.write(handle, rest) :]


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Return the JSON objects of a JSONL file in file order; torn and foreign lines are left out."""
    if not path.exists():
        return []
    rows = (parse_object(line) for line in path.read_bytes().splitlines())
    return [row for row in rows if row is not None]


def parse_object(line: bytes) -> dict[str, Any] | None:
    """Return the JSON object of a line, or None for a torn or foreign one."""
    try:
        row = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None
    return row if isinstance(row, dict) else None


def blocks_from_end(file: IO[bytes], end: int | None = None) -> Iterator[bytes]:
    """Yield the bytes of `file` before `end` (default: all) in blocks of 64 KiB, the last one first."""
    position = file.seek(0, os.SEEK_END) if end is None else end
    while position > 0:
        size = min(BLOCK_BYTES, position)
        position -= size
        file.seek(position)
        yield file.read(size)


def chunks_from_end(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """Join blocks that come last first into chunks of whole lines, without the newline at a chunk's end.

    The first chunk ends with what stands behind the last newline: nothing, or a torn line.
    """
    pieces: list[bytes] = []  # of the line whose beginning is still unread, its end first
    for block in blocks:
        cut = block.find(b"\n")
        if cut < 0:
            pieces.append(block)
            continue
        yield b"".join((memoryview(block)[cut + 1 :], *reversed(pieces)))
        pieces = [block[:cut]]
    yield b"".join(reversed(pieces))


def lines_from_end(file: IO[bytes]) -> Iterator[bytes]:
    """Yield the lines of `file`, the last one first, without their newlines; what is empty or torn among them."""
    return chain.from_iterable(reversed(chunk.split(b"\n")) for chunk in chunks_from_end(blocks_from_end(file)))


def rewrite(path: Path, keep: Callable[[bytes], bool]) -> int:
    """Leave out the lines that `keep` turns down, and return how many those were.

    Atomic and durable: a crash leaves the old file or the new one. Writers that honour the lock wait; a line that
    another program adds meanwhile is carried over. Costs one pass over the file, and nothing is written where every
    line stays.
    """
    path = path.resolve()
    if not path.exists():
        return 0
    scratch = scratch_beside(path)
    with held(path) as old, scratch.open("xb+") as new:
        try:
            fcntl.flock(new, fcntl.LOCK_EX)  # nobody appends to the successor before the late lines are in it
            copied, removed = _copy(old, new, keep)
            if removed:
                os.fchmod(new.fileno(), os.fstat(old).st_mode)
                _take_over(scratch, path, new, old, copied)
        finally:
            scratch.unlink(missing_ok=True)
    return removed


def _open_locked(path: Path, deadline: float) -> int:
    pause = 0.00005
    while True:
        handle = _open(path)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_still(handle, path):
                return handle
        except BlockingIOError:
            pass
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)
        if time.monotonic() > deadline:
            raise TimeoutError(f"{path} is locked by another program; end it, or try again later")
        time.sleep(pause)
        pause = min(pause * 2, 0.005)


def _open(path: Path) -> int:
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
    try:
        return os.open(path, flags, 0o644)
    except FileNotFoundError:
        path.parent.mkdir(parents=True, exist_ok=True)
        return os.open(path, flags, 0o644)


def _is_still(handle: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except FileNotFoundError:
        return False


def _copy(old: int, new: IO[bytes], keep: Callable[[bytes], bool]) -> tuple[int, int]:
    copied = removed = 0
    with os.fdopen(os.dup(old), "rb") as source:
        source.seek(0)
        for line in source:
            copied += len(line)
            if keep(line.rstrip(b"\n")):
                new.write(line)
            else:
                removed += 1
    new.flush()
    os.fsync(new.fileno())
    return copied, removed


def _take_over(scratch: Path, path: Path, new: IO[bytes], old: int, copied: int) -> None:
    scratch.replace(path)
    sync_folder(path.parent)
    quiet_since, over = time.monotonic(), False
    while not over:
        over = time.monotonic() - quiet_since > LATE_WRITE_S  # and then one last look
        late = os.pread(old, BLOCK_BYTES, copied)
        if late:
            new.write(late)
            new.flush()
            copied += len(late)
            quiet_since, over = time.monotonic(), False
        time.sleep(LATE_WRITE_S / 10)
