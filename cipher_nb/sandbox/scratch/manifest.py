"""What is known to be unchanged in a scratch copy.

A row says: while the real file and its copy both have these times, sizes, inodes and modes, their bytes are the same.
It stays true whatever happens to either, for ctime cannot be set back. Two things could make it lie and are kept out:
a change within the clock tick in which the file was seen (no row is written for a file that young), and a power cut
that kept the row and lost the bytes (rows of an earlier boot are not read).
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

import orjson

Row = list[int]
TICK_S = 0.01
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


def row(real: os.stat_result, copy: os.stat_result) -> Row:
    return [
        *(real.st_size, real.st_mtime_ns, real.st_ctime_ns, real.st_ino, real.st_mode),
        *(copy.st_size, copy.st_mtime_ns, copy.st_ctime_ns, copy.st_ino, copy.st_mode),
    ]


def changed_at(known: Row) -> int:
    """Return when the real file was changed last."""
    return known[2]


def settled(rows: Mapping[str, Row], folder: Path) -> dict[str, Row]:
    """Return the rows of those copies in which a change from now on must show: all, where the clock is fine enough."""
    newest = max((_copied_at(known) for known in rows.values()), default=0)
    now = clock(folder)
    if now <= newest:
        time.sleep(TICK_S)
        now = clock(folder)
    return {name: known for name, known in rows.items() if _copied_at(known) < now}


def _copied_at(known: Row) -> int:
    return known[7]


def clock(folder: Path) -> int:
    """Return the time that a change on `folder`'s disk gets now: a later change gets this or more, never less."""
    with tempfile.TemporaryFile(dir=folder) as probe:
        return os.fstat(probe.fileno()).st_ctime_ns


def load(path: Path) -> dict[str, Row]:
    """Return the rows by name; none where there is no manifest of this boot."""
    try:
        document = orjson.loads(path.read_bytes())
        return dict(document["rows"]) if document["boot"] == _boot() else {}
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def save(path: Path, rows: Mapping[str, Row]) -> None:
    """Write the rows; atomic, but not durable: they need not outlive this boot."""
    scratch = path.with_name(f"{path.name}.tmp")
    scratch.write_bytes(orjson.dumps({"boot": _boot(), "rows": rows}))
    scratch.replace(path)


def _boot() -> str:
    return BOOT_ID.read_text().strip() if BOOT_ID.exists() else ""
