"""What a proposal does to a folder: planned in memory first, so that a bad edit writes nothing."""

from __future__ import annotations

import errno
import hashlib
import os
import secrets
import stat
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

from cipher_nb.errors import ProposalError, SandboxError, UnsafePathError
from cipher_nb.files import inside, require_plain
from cipher_nb.sandbox.proposal.edits import Cell, Delete, Edit, Mode, Patch, Proposal, Rename, Replace, Write
from cipher_nb.sandbox.proposal.notebook import with_cell
from cipher_nb.sandbox.proposal.passage import replaced
from cipher_nb.sandbox.proposal.patch import patched
from cipher_nb.sandbox.proposal.text import written_over

CLOSED_FOLDERS = (".git", ".aide")
_PATH_ERRNOS = (errno.ENAMETOOLONG, errno.ENOTDIR, errno.EISDIR, errno.EEXIST, errno.EINVAL)


@dataclass(frozen=True)
class FileState:
    """A file's bytes and permission bits (`mode` None: what a new file gets), or a link, whose target is `data`."""

    data: bytes
    mode: int | None = None
    is_link: bool = False

    @property
    def is_executable(self) -> bool:
        return bool((self.mode or 0) & stat.S_IXUSR)


Changes = Mapping[str, FileState | None]
"""The files after a proposal, by path; None where the file is gone."""


def safe_target(root: Path, path: str) -> Path:
    """Return `root/path`, or raise UnsafePathError when an edit may not write there.

    Refused: whatever leaves `root`, every link (also one that stays inside), and `.git` and `.aide` at any depth.
    """
    target = inside(root, path)
    _refuse_closed(path)
    if target.resolve() != root.resolve().joinpath(*PurePosixPath(path).parts):
        raise _through_link(path)
    return target


def safe_entry(root: Path, path: str) -> Path:
    """Return `root/path` as safe_target does, but a link may stand at its end: then the link itself is meant."""
    if not os.path.islink(root / path):  # noqa: PTH114 - Path.is_symlink raises where a name is too long
        return safe_target(root, path)
    require_plain(path)
    _refuse_closed(path)
    folder = str(PurePosixPath(path).parent)
    return (root if folder == "." else safe_target(root, folder)) / PurePosixPath(path).name


def _refuse_closed(path: str) -> None:
    if not path.isprintable():
        raise UnsafePathError(f"path {path!r} holds unprintable characters; name a plain file")
    for part in PurePosixPath(path).parts:
        if part.lower() in CLOSED_FOLDERS:
            raise UnsafePathError(f"path {path!r} enters {part}, which no edit may touch; edit files of the project")


def _through_link(path: str) -> UnsafePathError:
    return UnsafePathError(f"path {path!r} goes through a link; name the real file")


def read_state(root: Path, path: str) -> FileState | None:
    """Return the file as it is, or None where there is none; a folder is a ProposalError, a link an UnsafePathError."""
    safe_target(root, path)
    return read_entry(root, path)


def read_entry(root: Path, path: str) -> FileState | None:
    """Return the file or the link as it is, or None where there is none; whatever else is there is a ProposalError."""
    target = safe_entry(root, path)
    try:
        found = target.lstat()
        if not _is_named_so(target, found):
            return None
        if stat.S_ISDIR(found.st_mode):
            raise ProposalError(f"{path} is a folder; name a file in it")
        if stat.S_ISLNK(found.st_mode):
            return FileState(os.readlink(os.fsencode(target)), is_link=True)  # noqa: PTH115 - Path would tidy it up
        if not stat.S_ISREG(found.st_mode):
            raise ProposalError(f"{path} is neither a file nor a link; leave it alone")
        return FileState(target.read_bytes(), stat.S_IMODE(found.st_mode))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise _trouble(f"{path} cannot be read in {root}", error) from error


def _is_named_so(target: Path, found: os.stat_result) -> bool:
    """Tell whether the name is the file's own, in a file system that finds it in other cases too."""
    other = target.with_name(target.name.swapcase())
    with suppress(FileNotFoundError):
        if os.path.samestat(other.lstat(), found):
            return target.name in os.listdir(target.parent)  # noqa: PTH208 - names are all that is asked
    return True


def plan(root: Path, proposal: Proposal) -> Changes:
    """Return what `proposal` makes of the files in `root`, writing nothing; raises ProposalError or UnsafePathError."""
    overlay = _Overlay(root)
    for edit in proposal.edits:
        _carry_out(overlay, edit)
    _refuse_nested(overlay.files)
    return overlay.files


def _refuse_nested(changes: Changes) -> None:
    for path, state in changes.items():
        for folder in PurePosixPath(path).parents:
            if state is not None and changes.get(str(folder)) is not None:
                raise ProposalError(f"{path} lies in {folder}, which the edits make a file; choose another path")


def apply_edits(root: Path, proposal: Proposal) -> Changes:
    """Carry `proposal` out in `root` and return the files it touched, as they now are.

    Folders that it empties are removed, as git does.
    """
    changes = plan(root, proposal)
    emptied = emptied_folders(root, changes)
    path = ""
    try:
        for path in changes:
            if changes[path] is None:
                safe_entry(root, path).unlink(missing_ok=True)
        for path in emptied:
            (root / path).rmdir()
        for path, state in changes.items():
            if state is not None:
                _put(safe_entry(root, path), state)
    except OSError as error:
        raise _trouble(f"{path} cannot be written", error) from error
    return changes


def _trouble(what: str, error: OSError) -> SandboxError:
    """Tell a path that no disk would take, which is the proposal's fault, from trouble with this disk."""
    if error.errno in _PATH_ERRNOS:
        return ProposalError(f"{what} ({error.strerror}); choose another path")
    return SandboxError(f"{what} ({error.strerror}); free space or fix permissions")


def _put(target: Path, state: FileState) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    scratch = target.with_name(f".{target.name}.{secrets.token_hex(6)}.tmp")
    try:
        create(scratch, state)
        scratch.replace(target)
    except BaseException:
        scratch.unlink(missing_ok=True)
        raise


def create(path: Path, state: FileState) -> None:
    """Make `path`, which must not be there, the file or link that `state` is; its bytes are on disk afterwards."""
    if state.is_link:
        os.symlink(state.data, os.fsencode(path))  # noqa: PTH211 - the target in its own bytes
        return
    with path.open("xb") as file:
        file.write(state.data)
        file.flush()
        if state.mode is not None:
            os.fchmod(file.fileno(), state.mode)
        os.fsync(file.fileno())


def emptied_folders(root: Path, changes: Changes) -> list[str]:
    """Return the folders in `root` that `changes` leave without any entry, the deepest first."""
    gone = {path for path, state in changes.items() if state is None}
    kept = {str(folder) for path, state in changes.items() if state is not None for folder in _folders_of(path)}
    emptied = []
    for folder in sorted({str(f) for path in gone for f in _folders_of(path)} - kept, key=_depth, reverse=True):
        with suppress(FileNotFoundError, NotADirectoryError):
            if all(f"{folder}/{name}" in gone for name in os.listdir(root / folder)):  # noqa: PTH208
                emptied.append(folder)
                gone.add(folder)
    return emptied


def missing_folders(root: Path, changes: Changes) -> list[str]:
    """Return the folders that `changes` need and `root` has not, the topmost first."""
    needed = {str(folder) for path, state in changes.items() if state is not None for folder in _folders_of(path)}
    return sorted((folder for folder in needed if not (root / folder).is_dir()), key=_depth)


def _folders_of(path: str) -> list[PurePosixPath]:
    return list(PurePosixPath(path).parents)[:-1]


def _depth(folder: str) -> int:
    return folder.count("/")


def hashes(root: Path, paths: Iterable[str]) -> dict[str, str]:
    """Return what each file in `root` is known by: see hash_of."""
    return {path: hash_of(read_entry(root, path)) for path in paths}


def hash_of(state: FileState | None) -> str:
    """Return the SHA-256 of the bytes, behind "link:" or "executable:" for such a one; "" where there is no file."""
    if state is None:
        return ""
    digest = hashlib.sha256(state.data).hexdigest()
    return f"link:{digest}" if state.is_link else f"executable:{digest}" if state.is_executable else digest


@dataclass
class _Overlay:
    root: Path
    files: dict[str, FileState | None] = field(default_factory=dict)

    def __getitem__(self, path: str) -> FileState | None:
        if path not in self.files:
            self.files[path] = read_entry(self.root, path)
        return self.files[path]

    def existing(self, path: str) -> FileState:
        """Return a file or a link."""
        state = self[path]
        if state is None:
            raise ProposalError(f"{path} does not exist; name a file that does, or send op 'write' to make it")
        return state

    def file(self, path: str) -> FileState | None:
        """Return what may be written to: a file, or None where there is none yet."""
        state = self[path]
        if state is not None and state.is_link:
            raise _through_link(path)
        if state is None:
            self._refuse_other_case(path)
        return state

    def _refuse_other_case(self, path: str) -> None:
        """Where the file system finds `path` under another name that stays, writing it would write that one."""
        target = self.root / path
        names = os.listdir(target.parent) if os.path.lexists(target) else ()  # noqa: PTH208
        for name in names if target.name not in names else ():
            actual = str(PurePosixPath(path).with_name(name))
            if name.lower() == target.name.lower() and self.files.get(actual, True) is not None:
                raise ProposalError(f"{path} is there as {actual}; use that name, or rename it first")


def _carry_out(overlay: _Overlay, edit: Edit) -> None:
    match edit:
        case Delete(path):
            overlay.existing(path)
            overlay.files[path] = None
        case Rename(path, to):
            _rename(overlay, path, to)
        case Write(path, text):
            before = overlay.file(path)
            data = written_over(before.data, text) if before else text.encode()
            overlay.files[path] = FileState(data, before.mode if before else None)
        case Replace(path, "", replacement) if not (overlay[path] or FileState(b"")).data:
            _carry_out(overlay, Write(path, replacement))
        case _:
            overlay.existing(edit.path)
            before = overlay.file(edit.path)
            assert before is not None
            overlay.files[edit.path] = _edited(before, edit)


def _rename(overlay: _Overlay, path: str, to: str) -> None:
    state = overlay.existing(path)
    if overlay[to] is not None and to != path:
        raise ProposalError(f"{to} exists already; rename {path} to a new name, or delete {to} first")
    overlay.files[path] = None
    overlay.file(to)
    overlay.files[to] = state


def _edited(before: FileState, edit: Replace | Patch | Mode | Cell) -> FileState:
    match edit:
        case Replace(path, search, replacement):
            return replace(before, data=replaced(path, before.data, search=search, replacement=replacement))
        case Patch(path, diff):
            return replace(before, data=patched(path, before.data, diff))
        case Cell(path, cell, source):
            return replace(before, data=with_cell(path, before.data, cell=cell, source=source))
        case Mode(_, mode):
            return replace(before, mode=_with_mode(before.mode, executable=mode == "755"))


def _with_mode(mode: int | None, *, executable: bool) -> int | None:
    """Return the bits with execution for whoever may read, or for nobody."""
    if mode is None:
        return 0o755 if executable else None
    return mode | (mode & 0o444) >> 2 if executable else mode & ~0o111
