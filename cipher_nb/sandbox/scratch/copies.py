"""The scratch copies that lie in `.aide/sandboxes/`: which is in use, and which the next task may take over.

Beside the copy of task T lie `.T.json`, its manifest, only while the copy is whole; and `.T.lock`, held while T runs.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from cipher_nb.errors import SandboxError
from cipher_nb.files import locked
from cipher_nb.sandbox.scratch import manifest
from cipher_nb.sandbox.scratch.manifest import Row

CURRENT = "current"
WAIT_S = 2.0


@contextmanager
def in_use(sandbox: Path) -> Iterator[None]:
    """Keep the copy in `sandbox` from being taken over or pruned meanwhile; the kernel lets go when the process dies.

    Raises SandboxError when it is in use already, or the disk does not allow it.
    """
    lock = locked(sandbox, timeout_s=WAIT_S)
    try:
        sandbox.parent.mkdir(parents=True, exist_ok=True)
        lock.acquire()
    except Timeout as error:
        raise SandboxError(f"the copy in {sandbox} is in use by another task; wait until that has ended") from error
    except OSError as error:
        raise SandboxError(f"{sandbox} cannot be made ({error}); free space or fix permissions") from error
    try:
        yield
    finally:
        lock.release()


def take_over(sandbox: Path) -> dict[str, Row]:
    """Return what is known of the files in `sandbox`, which counts as unfinished until its manifest is written again.

    Where there is no such folder yet, the newest copy that no task uses becomes it.
    """
    with arranging(sandbox.parent):
        if not os.path.lexists(sandbox):
            _rename_newest_free(sandbox)
        rows = manifest.load(manifest_path(sandbox))
        manifest_path(sandbox).unlink(missing_ok=True)
    return rows


def finish(sandbox: Path, rows: Mapping[str, Row]) -> None:
    """Write the manifest of a whole copy and point `current` to it."""
    with arranging(sandbox.parent):
        manifest.save(manifest_path(sandbox), rows)
        link = sandbox.with_name(f".{CURRENT}.{secrets.token_hex(6)}")
        link.symlink_to(sandbox.name, target_is_directory=True)
        link.replace(sandbox.with_name(CURRENT))


def manifest_path(sandbox: Path) -> Path:
    return sandbox.with_name(f".{sandbox.name}.json")


def copies(sandboxes: Path) -> list[Path]:
    """Return the copies, the one made last at the end."""
    folders = [path for path in sandboxes.iterdir() if path.name[0] != "." and path.is_dir() and not path.is_symlink()]
    return sorted(folders, key=made_at)


def made_at(sandbox: Path) -> float:
    """Return when the copy was finished: its manifest's time, which no check can write."""
    try:
        return manifest_path(sandbox).stat().st_mtime
    except FileNotFoundError:
        return sandbox.lstat().st_mtime


@contextmanager
def unused(sandbox: Path) -> Iterator[bool]:
    """Tell whether no task uses `sandbox`, and let none begin to meanwhile."""
    lock = locked(sandbox, timeout_s=0)
    try:
        lock.acquire()
    except Timeout:
        yield False
        return
    try:
        yield True
    finally:
        lock.release()


def arranging(sandboxes: Path) -> FileLock:
    """Return the lock under which copies are renamed and removed."""
    return locked(sandboxes / "sandboxes")


def _rename_newest_free(sandbox: Path) -> None:
    for other in reversed(copies(sandbox.parent)):
        if not manifest_path(other).exists():
            continue
        with unused(other) as free:
            if free:
                manifest_path(other).rename(manifest_path(sandbox))
                other.rename(sandbox)
                return
