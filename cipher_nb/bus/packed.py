"""A closed segment, compressed: gzip members of about 1 MiB, each with its size in its header, so that the last one can
be read alone. Any gzip program reads the whole.

The header's extra field is that of RFC 1952, 2.3.1.1: two letters, a length, and here the member's size.
"""

from __future__ import annotations

import gzip
import os
import struct
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO

from cipher_nb.files import write_atomic

MEMBER_BYTES = 1024 * 1024
MAGIC = b"\x1f\x8b"
DAMAGED = b"(damaged)\n"

_HEADER = struct.Struct("<4sIBBH2sHI")  # magic with flags, time, level, system, extra length, letters, length, size
_OUR_MAGIC, _LETTERS = MAGIC + b"\x08\x04", b"CN"
_UNKNOWN_SYSTEM, _FIELD_BYTES, _TRAILER = 255, 4, struct.Struct("<II")


def pack(lines: Iterable[bytes], path: Path) -> None:
    """Write `lines` (each with its newline) to `path`, compressed, atomically. Holds the compressed file in memory."""
    write_atomic(path, b"".join(_member(block) for block in _blocks(lines)))


def unpack_from_end(file: IO[bytes]) -> Iterator[bytes]:
    """Yield the blocks of a packed file, the last one first, one in memory at a time.

    A damaged member is yielded as one foreign line, so that whoever counts those counts it.
    """
    for start, size in reversed(_places(file)):
        file.seek(start)
        try:
            yield gzip.decompress(file.read(size))
        except (OSError, EOFError, zlib.error):
            yield DAMAGED


def _blocks(lines: Iterable[bytes]) -> Iterator[bytes]:
    block: list[bytes] = []
    size = 0
    for line in lines:
        block.append(line)
        size += len(line)
        if size >= MEMBER_BYTES:
            yield b"".join(block)
            block, size = [], 0
    if block:
        yield b"".join(block)


def _member(block: bytes) -> bytes:
    packer = zlib.compressobj(6, zlib.DEFLATED, -zlib.MAX_WBITS)
    body = packer.compress(block) + packer.flush()
    size = _HEADER.size + len(body) + _TRAILER.size
    header = _HEADER.pack(_OUR_MAGIC, 0, 0, _UNKNOWN_SYSTEM, _FIELD_BYTES + 4, _LETTERS, _FIELD_BYTES, size)
    return header + body + _TRAILER.pack(zlib.crc32(block), len(block) & 0xFFFFFFFF)


def _places(file: IO[bytes]) -> list[tuple[int, int]]:
    """Return start and size of every member, by hopping from header to header."""
    end = file.seek(0, os.SEEK_END)
    places: list[tuple[int, int]] = []
    position = 0
    while position < end:
        file.seek(position)
        header = file.read(_HEADER.size)
        if len(header) < _HEADER.size or header[:4] != _OUR_MAGIC or _HEADER.unpack(header)[5] != _LETTERS:
            return [*places, (position, end - position)]  # another program packed it, as one piece; or damage
        size = _HEADER.unpack(header)[7]
        places.append((position, size))
        position += max(size, _HEADER.size)
    return places
