"""Removing old scratch copies."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from cipher_nb.errors import SandboxError
from cipher_nb.sandbox.scratch.copies import CURRENT, arranging, copies, made_at, unused
from cipher_nb.sandbox.scratch.removal import GONE, remove

DAY_S = 86_400
MB = 2**20


def prune(sandboxes: Path, *, keep_days: int, keep_mb: int, now: datetime) -> tuple[str, ...]:
    """Remove the copies older than `keep_days`, then the oldest until `keep_mb` hold the rest; return which went.

    What `current` points to, the newest, and what a task uses stay. What the disk will not give up stays and is tried
    again the next time; SandboxError where nothing can be renamed at all.
    """
    if not sandboxes.is_dir():
        return ()
    try:
        with arranging(sandboxes):
            gone = _set_aside(sandboxes, made_since=now.timestamp() - keep_days * DAY_S, room=keep_mb * MB)
            _sweep(sandboxes)
    except OSError as error:
        raise SandboxError(f"old copies in {sandboxes} could not be removed: {error}; fix permissions") from error
    for rest in sandboxes.glob(f"{GONE}*"):
        with suppress(OSError):
            remove(rest)
    return gone


def _set_aside(sandboxes: Path, *, made_since: float, room: int) -> tuple[str, ...]:
    """Rename what must go, so that it is gone at once, however long removing it takes."""
    sizes = {copy: _bytes_on_disk(copy) for copy in copies(sandboxes)}
    gone = []
    for copy in list(sizes)[:-1]:
        if made_at(copy) >= made_since and sum(sizes.values()) <= room:
            break
        with unused(copy) as free:
            if not free or _is_current(copy):
                continue
            with suppress(OSError):
                copy.rename(sandboxes / f"{GONE}{secrets.token_hex(8)}")
                gone.append(copy.name)
                del sizes[copy]
    return tuple(gone)


def _is_current(copy: Path) -> bool:
    link = copy.with_name(CURRENT)
    return link.is_symlink() and link.readlink().name == copy.name


def _sweep(sandboxes: Path) -> None:
    """Remove manifests and locks of copies that are no more, and links that a killed process left."""
    for path in sandboxes.glob(".*"):
        sandbox = sandboxes / path.stem.removeprefix(".")
        if path.is_symlink() or (path.suffix in (".json", ".tmp") and not sandbox.exists()):
            path.unlink(missing_ok=True)
        elif path.suffix == ".lock" and not sandbox.exists():
            with unused(sandbox) as free:
                if free:
                    path.unlink(missing_ok=True)


def _bytes_on_disk(folder: Path) -> int:
    """Return the room that `folder` takes; what may not be looked into counts for nothing."""
    total, pending = 0, [str(folder)]
    while pending:
        with suppress(OSError), os.scandir(pending.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    pending.append(entry.path)
                else:
                    total += entry.stat(follow_symlinks=False).st_blocks * 512
    return total
