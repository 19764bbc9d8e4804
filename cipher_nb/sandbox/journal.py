"""Changing many files as one. What is to change is on disk before the first change, and finished after a crash.

`.aide/journal/<task>/` holds a manifest and every file as it was and as it will be, ready to be moved into its place.
It appears whole, by one rename: what died before that had touched nothing. What died after it is rolled forward by
`recover`, and rolled back only where a file is neither what it was nor what it should become: that one is left alone
and named.
When all is in place the folder moves to `.aide/undo/<task>/`, the record that `revert` works from.

The caller holds a lock: one at a time applies, reverts or recovers in a workspace.
"""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from cipher_nb.errors import ConflictError, SandboxError
from cipher_nb.files import read_json, sync_folder, write_json
from cipher_nb.sandbox.proposal.changes import (
    Changes,
    FileState,
    create,
    emptied_folders,
    hash_of,
    missing_folders,
    read_entry,
    safe_entry,
)

APPLY, REVERT = "apply", "revert"
MANIFEST = "manifest.json"
GOING_BACK = "going-back"


@dataclass(frozen=True)
class Recovered:
    """What became of a change that was cut off: all in place, or, where it is not `finished`, none of it.

    `left_alone` are files that somebody else changed meanwhile.
    """

    task: str
    kind: str
    finished: bool
    left_alone: tuple[str, ...]


@dataclass(frozen=True)
class _Folder:
    """A folder that comes into being, or goes; `mode` None is what a new one gets."""

    path: str
    mode: int | None
    comes: bool


@dataclass(frozen=True)
class _Journal:
    """The folder of one change, as its manifest describes it; `folder/before/N` and `folder/after/N` are file N."""

    folder: Path
    kind: str
    files: Sequence[Mapping[str, Any]]
    folders: Sequence[_Folder]

    @classmethod
    def read(cls, folder: Path) -> _Journal:
        value = read_json(folder / MANIFEST)
        return cls(folder, value["kind"], value["files"], [_Folder(**each) for each in value["folders"]])


def apply(root: Path, aide: Path, task: str, changes: Changes) -> None:
    """Make the files in `root` what `changes` says, all or nothing, and keep what `revert` needs.

    When a file cannot be written, those before it are put back and a SandboxError names it.
    """
    folders = [_Folder(path, _mode_of(root / path), comes=False) for path in emptied_folders(root, changes)]
    folders += [_Folder(path, None, comes=True) for path in missing_folders(root, changes)]
    before = {path: read_entry(root, path) for path in changes}
    _run(root, aide, task, APPLY, before, changes, folders)


def revert(root: Path, aide: Path, task: str) -> None:
    """Make the files that `apply` changed for this task what they were, modes, links and folders included.

    Raises ConflictError, naming the file, when one is not as `apply` left it, SandboxError when there is no record.
    """
    folder = aide / "undo" / task
    if last_kind(aide, task) != APPLY:
        raise SandboxError(f"there is no record in {folder} to undo task {task} by; take the change back with git")
    done = _Journal.read(folder)
    now: dict[str, FileState | None] = {}
    for file in done.files:
        now[file["path"]] = found = _found(root, file["path"])
        if not _is(found, file["after"]):
            raise ConflictError(f"{file['path']} changed since task {task} was approved; undo it by hand, or with git")
    then = {file["path"]: _kept(folder / "before" / str(n), file["before"]) for n, file in enumerate(done.files)}
    folders = [
        _Folder(each.path, _mode_of(root / each.path) if each.comes else each.mode, not each.comes)
        for each in done.folders
    ]
    _run(root, aide, task, REVERT, now, then, folders)


def last_kind(aide: Path, task: str) -> str:
    """Return what was last finished for this task: "apply", "revert", or "" where no record is kept."""
    folder = aide / "undo" / task
    return _Journal.read(folder).kind if (folder / MANIFEST).is_file() else ""


def forget(aide: Path, task: str) -> None:
    """Drop what `revert` needs."""
    _drop(aide / "undo" / task)


def recover(root: Path, aide: Path) -> tuple[Recovered, ...]:
    """Finish what was cut off in the workspace, or take it back, and return what was done; usually nothing.

    Raises SandboxError, naming the file, when the disk does not allow it; the next call tries again.
    """
    for rest in (*(aide / "journal").glob(".*"), *(aide / "undo").glob(".*")):
        shutil.rmtree(rest, ignore_errors=True)
    return tuple(_recover(root, aide, folder.name) for folder in sorted((aide / "journal").glob("[!.]*")))


def _recover(root: Path, aide: Path, task: str) -> Recovered:
    journal = _Journal.read(aide / "journal" / task)
    foreign = _foreign(root, journal)
    back = bool(foreign) or (journal.folder / GOING_BACK).exists()
    try:
        if back:
            _go_back(root, journal, leave=foreign)
        else:
            _move(root, journal, "after")
            _finish(root, aide, task, journal)
    except OSError as error:
        raise SandboxError(
            f"task {task} was cut off and cannot be finished ({error}); free space or fix permissions, and try again"
        ) from error
    return Recovered(task, journal.kind, not back, tuple(foreign))


def _foreign(root: Path, journal: _Journal) -> list[str]:
    """Return the files that are neither what they were nor what they should become."""
    return [file["path"] for file in journal.files if _is_foreign(root, file)]


def _is_foreign(root: Path, file: Mapping[str, Any]) -> bool:
    try:
        found = _found(root, file["path"])
    except SandboxError:
        return True
    return not (_is(found, file["before"]) or _is(found, file["after"]))


def _run(
    root: Path,
    aide: Path,
    task: str,
    kind: str,
    before: Changes,
    after: Changes,
    folders: Sequence[_Folder],
) -> None:
    touched = [path for path in after if before[path] != after[path]]
    try:
        journal = _write(aide, task, kind, [(path, before[path], after[path]) for path in touched], folders)
    except OSError as error:
        raise SandboxError(
            f"{aide / 'journal'} could not be written ({error.strerror}); no file was changed"
        ) from error
    if changed := _foreign(root, journal):
        _drop(journal.folder)
        raise ConflictError(f"{changed[0]} was changed by somebody else at this moment; try again")
    try:
        _move(root, journal, "after")
        _finish(root, aide, task, journal)
    except BaseException as error:
        rest = _take_back(root, journal)
        if isinstance(error, OSError):
            name = _name_in(root, error)
            raise SandboxError(f"{name} could not be written ({error.strerror or error}); {rest}") from error
        raise


def _write(
    aide: Path,
    task: str,
    kind: str,
    files: Iterable[tuple[str, FileState | None, FileState | None]],
    folders: Sequence[_Folder],
) -> _Journal:
    """Write the journal, all of it on disk before it has its name."""
    folder = aide / "journal" / task
    scratch = folder.with_name(f".{task}.{secrets.token_hex(6)}")
    rows = []
    for side in ("before", "after"):
        (scratch / side).mkdir(parents=True)
    for number, (path, before, after) in enumerate(files):
        for side, state in (("before", before), ("after", after)):
            if state is not None:
                create(scratch / side / str(number), state)
        rows.append({"path": path, "before": _described(before), "after": _described(after)})
    listed = [{"path": each.path, "mode": each.mode, "comes": each.comes} for each in folders]
    for side in ("before", "after"):
        sync_folder(scratch / side)
    write_json(scratch / MANIFEST, {"kind": kind, "files": rows, "folders": listed})
    scratch.rename(folder)
    sync_folder(folder.parent)
    sync_folder(aide)
    return _Journal(folder, kind, rows, folders)


def _move(root: Path, journal: _Journal, side: str, *, leave: Sequence[str] = ()) -> None:
    """Make the tree what `side` says, from whatever mixture of both sides; the files in `leave` are left alone."""
    files = [(number, file) for number, file in enumerate(journal.files) if file["path"] not in leave]
    for _, file in files:
        if file[side] is None and _found(root, file["path"]):
            safe_entry(root, file["path"]).unlink()
    comes = sorted((each for each in journal.folders if each.comes == (side == "after")), key=lambda each: each.path)
    for each in sorted(journal.folders, key=lambda each: each.path, reverse=True):
        if each not in comes:
            with suppress(OSError):  # not empty: somebody put something there
                (root / each.path).rmdir()
    for each in comes:
        safe_entry(root, each.path).mkdir(parents=True, exist_ok=True)
    for number, file in files:
        ready = journal.folder / side / str(number)
        if os.path.lexists(ready) and not _is(_found(root, file["path"]), file[side]):
            ready.replace(safe_entry(root, file["path"]))
    for each in comes:  # last: it may forbid to write there
        if each.mode is not None:
            (root / each.path).chmod(each.mode)


def _found(root: Path, path: str) -> FileState | None:
    """Return the file or link, or None: a folder may stand where a file made room for it."""
    return None if _is_folder(root / path) else read_entry(root, path)


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _finish(root: Path, aide: Path, task: str, journal: _Journal) -> None:
    """Call it done: the journal becomes the record for `revert`."""
    _sync(root, journal)
    record = aide / "undo" / task
    record.parent.mkdir(exist_ok=True)
    _drop(record)
    journal.folder.rename(record)
    sync_folder(record.parent)
    sync_folder(journal.folder.parent)


def _take_back(root: Path, journal: _Journal) -> str:
    """Put everything back after a failure and say how that went."""
    try:
        _go_back(root, journal, leave=_foreign(root, journal))
    except OSError as error:
        return f"{_name_in(root, error)} could not be put back ({error.strerror}); the next command tries again"
    return "all other files are as they were"


def _go_back(root: Path, journal: _Journal, *, leave: Sequence[str]) -> None:
    (journal.folder / GOING_BACK).touch()
    sync_folder(journal.folder)
    _move(root, journal, "before", leave=leave)
    _sync(root, journal)
    _drop(journal.folder)


def _drop(folder: Path) -> None:
    """Remove a folder so that a crash leaves all of it or, under a name that is swept up, a rest."""
    rest = folder.with_name(f".{folder.name}.{secrets.token_hex(6)}")
    with suppress(FileNotFoundError):
        folder.rename(rest)
        shutil.rmtree(rest, ignore_errors=True)


def _sync(root: Path, journal: _Journal) -> None:
    """Bring the moves to the disk."""
    parents = {PurePosixPath(each) for file in journal.files for each in PurePosixPath(file["path"]).parents}
    for folder in sorted(parents):
        with suppress(FileNotFoundError, NotADirectoryError):
            sync_folder(root / folder)


def _name_in(root: Path, error: OSError) -> str:
    target = Path(error.filename2 or error.filename or root)
    return str(target.relative_to(root)) if target.is_relative_to(root) else str(target)


def _mode_of(folder: Path) -> int:
    return folder.stat().st_mode & 0o7777


def _described(state: FileState | None) -> dict[str, Any] | None:
    return None if state is None else {"hash": hash_of(state), "mode": state.mode, "is_link": state.is_link}


def _is(found: FileState | None, described: Mapping[str, Any] | None) -> bool:
    if found is None or described is None:
        return found is None and described is None
    return hash_of(found) == described["hash"] and described["mode"] in (None, found.mode)


def _kept(path: Path, described: Mapping[str, Any] | None) -> FileState | None:
    if described is None:
        return None
    if described["is_link"]:
        return FileState(os.readlink(os.fsencode(path)), is_link=True)  # noqa: PTH115
    return FileState(path.read_bytes(), described["mode"])
