"""One file into a new one, bytes shared on disks that can share them until either is changed."""

from __future__ import annotations

import os

CHUNK_BYTES = 2**20


def pour(source: int, target: str, *, like: os.stat_result) -> os.stat_result:
    """Make the file `target`, which must not exist, from the open file `source`, and return its stat.

    Size, permission bits and times are those of `like`.
    """
    copy = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    try:
        left = like.st_size - _pour_in_kernel(source, copy, like.st_size)
        while left > 0 and (chunk := os.read(source, min(left, CHUNK_BYTES))):
            _write_all(copy, chunk)
            left -= len(chunk)
        os.fchmod(copy, like.st_mode & 0o777)
        os.utime(copy, ns=(like.st_atime_ns, like.st_mtime_ns))
        return os.fstat(copy)
    finally:
        os.close(copy)


def _pour_in_kernel(source: int, copy: int, size: int) -> int:
    """Return how many bytes went over; fewer than there are where kernel or file system cannot do it."""
    done = 0
    try:
        while done < size and (count := os.copy_file_range(source, copy, size - done)):
            done += count
    except (AttributeError, OSError):
        pass
    return done


def _write_all(copy: int, chunk: bytes) -> None:
    rest = memoryview(chunk)
    while rest:
        rest = rest[os.write(copy, rest) :]
