"""What a proposal does to a folder: planned in memory first, so that a bad edit writes nothing."""

from __future__ import annotations

import errno
import hashlib
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from cipher_nb.errors import ProposalError, SandboxError, UnsafePathError
from cipher_nb.files import inside, write_atomic
from cipher_nb.sandbox.edits import Delete, Edit, Proposal, Rename, Replace, Write

CLOSED_FOLDERS = (".git", ".aide")
_PATH_ERRNOS = (errno.ENAMETOOLONG, errno.ENOTDIR, errno.EISDIR, errno.EEXIST, errno.EINVAL)


@dataclass(frozen=True)
class FileState:
    """A file's bytes and permission bits; `mode` None means what a new file gets."""

    data: bytes
    mode: int | None = None


Changes = Mapping[str, FileState | None]
"""The files after a proposal, by path; None where the file is gone."""


def safe_target(root: Path, path: str) -> Path:
    """Return `root/path`, or raise UnsafePathError when an edit may not go there.

    Refused: whatever leaves `root`, every link (also one that stays inside), and `.git` and `.aide` at any depth.
    """
    target = inside(root, path)
    parts = PurePosixPath(path).parts
    if not path.isprintable():
        raise UnsafePathError(f"path {path!r} holds unprintable characters; name a plain file")
    for part in parts:
        if part.lower() in CLOSED_FOLDERS:
            raise UnsafePathError(f"path {path!r} enters {part}, which no edit may touch; edit files of the project")
    if target.resolve() != root.resolve().joinpath(*parts):
        raise UnsafePathError(f"path {path!r} goes through a link; name the real file")
    return target


def read_state(root: Path, path: str) -> FileState | None:
    """Return the file as it is, or None where there is none; a folder is a ProposalError."""
    target = safe_target(root, path)
    try:
        if target.is_dir():
            raise ProposalError(f"{path} is a folder; name a file in it")
        if not target.is_file():
            return None
        return FileState(target.read_bytes(), stat.S_IMODE(target.stat().st_mode))
    except OSError as error:
        raise _trouble(f"{path} cannot be read in {root}", error) from error


def plan(root: Path, proposal: Proposal) -> Changes:
    """Return what `proposal` makes of the files in `root`, writing nothing; raises ProposalError or UnsafePathError."""
    overlay = _Overlay(root)
    for edit in proposal.edits:
        _carry_out(overlay, edit)
    return overlay.files


def apply_edits(root: Path, proposal: Proposal) -> Changes:
    """Carry `proposal` out in `root` and return the files it touched, as they now are."""
    changes = plan(root, proposal)
    try:
        for path in in_writing_order(changes):
            put(root, path, changes[path])
    except OSError as error:
        raise _trouble(f"{path} cannot be written", error) from error
    return changes


def _trouble(what: str, error: OSError) -> SandboxError:
    """Tell a path that no disk would take, which is the proposal's fault, from trouble with this disk."""
    if error.errno in _PATH_ERRNOS:
        return ProposalError(f"{what} ({error.strerror}); choose another path")
    return SandboxError(f"{what} ({error.strerror}); free space or fix permissions")


def in_writing_order(changes: Changes) -> list[str]:
    """Return the paths, deletions first: a file may make room for a folder of its name."""
    return sorted(changes, key=lambda path: changes[path] is not None)


def put(root: Path, path: str, state: FileState | None) -> None:
    """Make one file be `state`, atomically and with its permission bits."""
    target = safe_target(root, path)
    if state is None:
        target.unlink(missing_ok=True)
        return
    write_atomic(target, state.data)
    if state.mode is not None:
        target.chmod(state.mode)


def hashes(root: Path, paths: Iterable[str]) -> dict[str, str]:
    """Return the SHA-256 of each file in `root`, "" where there is none."""
    return {path: hash_of(read_state(root, path)) for path in paths}


def hash_of(state: FileState | None) -> str:
    return "" if state is None else hashlib.sha256(state.data).hexdigest()


@dataclass
class _Overlay:
    root: Path
    files: dict[str, FileState | None] = field(default_factory=dict)

    def __getitem__(self, path: str) -> FileState | None:
        if path not in self.files:
            self.files[path] = read_state(self.root, path)
        return self.files[path]

    def existing(self, path: str) -> FileState:
        state = self[path]
        if state is None:
            raise ProposalError(f"{path} does not exist; name a file that does, or send op 'write' to make it")
        return state


def _carry_out(overlay: _Overlay, edit: Edit) -> None:
    match edit:
        case Write(path, text):
            before = overlay[path]
            overlay.files[path] = FileState(text.encode(), before.mode if before else None)
        case Replace(path, search, replacement):
            before = overlay.existing(path)
            overlay.files[path] = FileState(_replaced(path, before.data, search, replacement), before.mode)
        case Delete(path):
            overlay.existing(path)
            overlay.files[path] = None
        case Rename(path, to):
            state = overlay.existing(path)
            if overlay[to] is not None:
                raise ProposalError(f"{to} exists already; rename {path} to a new name, or delete {to} first")
            overlay.files[path], overlay.files[to] = None, state


def _replaced(path: str, data: bytes, search: str, replacement: str) -> bytes:
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise ProposalError(f"{path} is not UTF-8 text; send op 'write' with the whole file") from error
    matches = _count(text, search)
    if matches != 1:
        mend = "add the lines around it until it is found once" if matches else "copy it exactly as the file has it"
        raise ProposalError(f"{path}: search was found {matches} times; {mend}, or send op 'write' with the whole file")
    return text.replace(search, replacement).encode()


def _count(text: str, search: str) -> int:
    """Count matches, overlapping ones too: `aa` in `aaa` is not a unique place. An empty search matches everywhere."""
    count, start = 0, text.find(search)
    while start >= 0:
        count, start = count + 1, text.find(search, start + 1)
    return count
