"""Durable files: atomic writes, locks, paths that stay inside."""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import secrets
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import Any

import orjson
from filelock import FileLock

from cipher_nb.errors import CipherError, UnsafePathError

_SCRATCH = re.compile(r"\..+\.[0-9a-f]{12}\.tmp")


def write_atomic(path: Path, content: bytes | str) -> None:
    """Write `content` so that a crash leaves either the old file or the new one, never a part.

    The data is on disk (fsync of file and folder) when this returns. Missing parent folders are made.
    """
    data = content.encode() if isinstance(content, str) else content
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = scratch_beside(path)
    try:
        with scratch.open("xb") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
            scratch.replace(path)
    except BaseException:
        scratch.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def scratch_beside(path: Path) -> Path:
    """Return a new name in `path`'s folder for what is to replace it; who writes there locks it (flock) first."""
    return path.with_name(f".{path.name}.{secrets.token_hex(6)}.tmp")


def remove_leftovers(folder: Path, *, outside: Collection[Path] = ()) -> None:
    """Remove what killed writers left in `folder` and below, but for the folders `outside`: they hold old words too.

    A file that somebody still writes is locked, or empty since it was made a moment ago; it stays.
    """
    for parent, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if Path(parent, name) not in outside]
        for path in (Path(parent, name) for name in names if _SCRATCH.fullmatch(name)):
            with suppress(FileNotFoundError, BlockingIOError):
                _remove_leftover(path)


def _remove_leftover(path: Path) -> None:
    if path.is_symlink() or not path.stat().st_size:
        return
    with path.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        path.unlink()


def sync_folder(folder: Path) -> None:
    """Make a rename or a new name inside `folder` durable."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_json(path: Path, value: Any) -> None:
    """Write `value` as indented JSON, atomically. NaN becomes null."""
    write_atomic(path, orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))


def read_json(path: Path) -> Any:
    """Return the parsed file; a broken one is a CipherError that names it, a missing one a FileNotFoundError."""
    try:
        return orjson.loads(path.read_bytes())
    except orjson.JSONDecodeError as error:
        raise CipherError(f"{path} is not valid JSON ({error}); move it away to start afresh") from error


def locked(path: Path, *, timeout_s: float = 30.0) -> FileLock:
    """Return the lock that guards `path`: a context manager, released by the kernel when its holder dies."""
    return FileLock(path.with_name(f".{path.name}.lock"), timeout=timeout_s)


def require_plain(relative: str) -> None:
    """Raise UnsafePathError for an absolute path, and for one with `..`, NUL or a backslash in it."""
    if not relative or relative.startswith(("/", "~")) or "\0" in relative or "\\" in relative:
        raise UnsafePathError(f"path {relative!r} is not a plain relative path; name a file inside the workspace")
    if any(part in ("..", "") for part in relative.rstrip("/").split("/")):
        raise UnsafePathError(f"path {relative!r} climbs out of the workspace; remove the '..'")


def inside(root: Path, relative: str) -> Path:
    """Return `root/relative`, refusing absolute paths, `..`, NUL and links that lead out of `root`."""
    require_plain(relative)
    target = root / relative
    try:
        real = target.resolve()
    except (OSError, RuntimeError, ValueError) as error:
        raise UnsafePathError(f"path {relative!r} leads nowhere ({error}); name a file inside the workspace") from error
    if not real.is_relative_to(root.resolve()):
        raise UnsafePathError(f"path {relative!r} leads through a link out of the workspace; name the real file")
    return target


def sha256_of(path: Path) -> str:
    """Return the file's SHA-256 as hex; reads it in blocks."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
