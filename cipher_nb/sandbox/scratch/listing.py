"""Which files of a project a scratch copy takes: its own, as git tells them, without `.git` and `.aide`."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from cipher_nb.errors import SandboxError
from cipher_nb.sandbox.git import run_git
from cipher_nb.sandbox.proposal.changes import CLOSED_FOLDERS


@dataclass(frozen=True)
class Listing:
    """The files that a copy takes. Without git (`from_git` False) that is everything but `.git` and `.aide`.

    `left_out` names what belongs to the project and could not be taken: files that may not be read, and submodules
    that are not checked out.
    """

    paths: tuple[str, ...]
    from_git: bool
    left_out: tuple[str, ...] = ()


@dataclass
class Survey:
    """The files and links of a project as they lie on disk, by name in sorted order."""

    from_git: bool
    files: dict[str, os.stat_result] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)

    def listing(self) -> Listing:
        return Listing(tuple(self.files), self.from_git, tuple(sorted(self.left_out)))


def list_files(root: Path) -> Listing:
    """Return what git tracks in `root` plus what it neither tracks nor ignores; all files where there is no git.

    The files of submodules, and of repositories that lie in this one, belong to it.
    """
    return survey(root).listing()


def survey(root: Path) -> Survey:
    """Return what `list_files` lists, each with its lstat."""
    names = _git_names(root)
    found = Survey(from_git=names is not None)
    folders = {"": True}
    for name in sorted({name.rstrip("/") for name in (_walk(root, found.left_out) if names is None else names)}):
        if name and not _is_closed(name) and _is_real(root, name.rpartition("/")[0], folders):
            _look_at(root, name, found)
    found.files = dict(sorted(found.files.items()))
    return found


def _git_names(root: Path) -> Iterable[str] | None:
    try:
        done = run_git(root, "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--exclude=/.aide/")
    except SandboxError:
        return None
    return os.fsdecode(done.stdout).split("\0") if done.returncode == 0 else None


def _walk(root: Path, left_out: list[str]) -> Iterator[str]:
    def leave_out(error: OSError) -> None:
        left_out.append(os.path.relpath(error.filename, root))

    for folder, folders, files in os.walk(root, onerror=leave_out):
        folders[:] = [name for name in folders if name not in CLOSED_FOLDERS]
        links = [name for name in folders if Path(folder, name).is_symlink()]
        yield from (str(Path(folder, name).relative_to(root)) for name in (*files, *links))


def _is_closed(name: str) -> bool:
    return any(closed in name for closed in CLOSED_FOLDERS) and not set(CLOSED_FOLDERS).isdisjoint(name.split("/"))


def _is_real(root: Path, folder: str, known: dict[str, bool]) -> bool:
    """Whether no link leads there: git goes on naming the files of a folder that a link replaced."""
    if folder not in known:
        above = folder.rpartition("/")[0]
        is_link = os.path.islink(f"{root}/{folder}")  # noqa: PTH114 - pathlib raises where it may not look
        known[folder] = _is_real(root, above, known) and not is_link
    return known[folder]


def _look_at(root: Path, name: str, found: Survey) -> None:
    try:
        seen = os.lstat(f"{root}/{name}")
    except (FileNotFoundError, NotADirectoryError):
        return
    except PermissionError:
        found.left_out.append(name)
        return
    if stat.S_ISREG(seen.st_mode) or stat.S_ISLNK(seen.st_mode):
        found.files[name] = seen
    elif stat.S_ISDIR(seen.st_mode):
        _look_into_repository(root, name, found)


def _look_into_repository(root: Path, name: str, found: Survey) -> None:
    """Git names a folder only where a repository of its own is, or was to be."""
    folder = root / name
    try:
        is_repository, is_empty = (folder / ".git").exists(), not any(folder.iterdir())
    except PermissionError:
        is_repository, is_empty = False, True
    if not is_repository:
        found.left_out += [name] if is_empty else []
        return
    inner = survey(folder)
    found.files |= {f"{name}/{path}": seen for path, seen in inner.files.items()}
    found.left_out += [f"{name}/{path}" for path in inner.left_out]
