"""Scratch copies: the project's own files under `.aide/sandboxes/`, without `.git` and `.aide`."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePath

from cipher_nb.errors import SandboxError
from cipher_nb.sandbox.changes import CLOSED_FOLDERS
from cipher_nb.sandbox.git import run_git


@dataclass(frozen=True)
class Listing:
    """The files that a copy takes. Without git (`from_git` False) that is everything but `.git` and `.aide`."""

    paths: tuple[str, ...]
    from_git: bool


def list_files(root: Path) -> Listing:
    """Return what git tracks in `root` plus what it neither tracks nor ignores; all files where there is no git."""
    try:
        found = run_git(root, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    except SandboxError:
        found = None
    from_git = found is not None and found.returncode == 0
    names = map(os.fsdecode, found.stdout.split(b"\0")) if found and from_git else _walk(root)
    return Listing(tuple(sorted({name for name in names if _is_copied(root, name)})), from_git)


def make_copy(root: Path, sandbox: Path) -> Listing:
    """Make `sandbox` a fresh copy of the project in `root`, and `current` beside it a link to it; return what it holds.

    Raises SandboxError when the disk does not allow it.
    """
    listing = list_files(root)
    try:
        if sandbox.exists():
            shutil.rmtree(sandbox)
        sandbox.mkdir(parents=True)
        for name in listing.paths:
            (sandbox / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root / name, sandbox / name, follow_symlinks=False)
        _point(sandbox.with_name("current"), sandbox.name)
    except OSError as error:
        raise SandboxError(
            f"the copy in {sandbox} could not be made: {error}; free space or fix permissions"
        ) from error
    return listing


def _walk(root: Path) -> Iterator[str]:
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if name not in CLOSED_FOLDERS]
        links = [name for name in folders if Path(folder, name).is_symlink()]
        yield from (str(Path(folder, name).relative_to(root)) for name in (*files, *links))


def _is_copied(root: Path, name: str) -> bool:
    if not name or any(part in CLOSED_FOLDERS for part in PurePath(name).parts):
        return False
    return (root / name).is_symlink() or (root / name).is_file()


def _point(link: Path, target: str) -> None:
    scratch = link.with_name(f".{link.name}.{secrets.token_hex(6)}")
    scratch.symlink_to(target, target_is_directory=True)
    scratch.replace(link)
