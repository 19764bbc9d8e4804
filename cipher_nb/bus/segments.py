"""The files of one log: the one that is written, and closed segments before it, plain or packed."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from cipher_nb.bus import packed
from cipher_nb.files import locked, sync_folder
from cipher_nb.jsonl import blocks_from_end


@dataclass(frozen=True)
class Segment:
    """A closed part of the log; higher numbers are newer."""

    number: int
    path: Path

    @property
    def is_packed(self) -> bool:
        return self.path.suffix == ".gz"

    def open(self) -> IO[bytes]:
        try:
            return self.path.open("rb")
        except FileNotFoundError:  # it was packed a moment ago
            return _packed_name(self.path).open("rb")


def segment_blocks_from_end(file: IO[bytes]) -> Iterator[bytes]:
    """Yield the bytes of an open segment in blocks, the last one first, plain or packed."""
    is_packed = file.read(2) == packed.MAGIC
    return packed.unpack_from_end(file) if is_packed else blocks_from_end(file)


def closed(log: Path) -> list[Segment]:
    """Return the closed segments of `log`, newest first; one that is there plain and packed counts once, as plain."""
    shape = re.compile(rf"{re.escape(log.stem)}\.(\d{{6,}}){re.escape(log.suffix)}(\.gz)?")
    found: dict[int, Path] = {}
    with suppress(FileNotFoundError), os.scandir(log.parent) as entries:
        for entry in entries:
            name = shape.fullmatch(entry.name)
            if name and (name[2] is None or int(name[1]) not in found):
                found[int(name[1])] = Path(entry.path)
    return [Segment(number, found[number]) for number in sorted(found, reverse=True)]


def close(log: Path) -> None:
    """Make `log` the newest closed segment; the caller holds its lock and writes a new one."""
    newest = next(iter(closed(log)), None)
    number = newest.number + 1 if newest else 1
    log.rename(log.with_name(f"{log.stem}.{number:06}{log.suffix}"))
    sync_folder(log.parent)


def pack_closed(log: Path) -> list[Path]:
    """Compress the closed segments but the newest one, and return the new files.

    The newest stays plain until the next one is closed: a program without our lock may still be writing its last line.
    """
    made = []
    with locked(log.with_name(f"{log.name}.segments")):
        for segment in closed(log)[1:]:
            if segment.is_packed:
                continue
            target = _packed_name(segment.path)
            with segment.path.open("rb") as lines:
                packed.pack(lines, target)
            segment.path.unlink()
            made.append(target)
    return made


def _packed_name(path: Path) -> Path:
    return path.with_name(f"{path.name}.gz")
