"""Bring a verified proposal to the real tree, all of it or nothing, and commit it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from cipher_nb.errors import ConflictError, SandboxError
from cipher_nb.sandbox.changes import Changes, hashes, in_writing_order, plan, put, read_state, safe_target
from cipher_nb.sandbox.edits import Proposal
from cipher_nb.sandbox.git import git_output, run_git

SHIPPING = "CIPHER_NB_SHIPPING"
"""Set in the environment of a commit that is recorded by who made it: a hook need not."""


def apply_to_tree(root: Path, proposal: Proposal, *, base_hashes: Mapping[str, str]) -> tuple[str, ...]:
    """Carry `proposal` out in the real tree and return the paths it touched.

    Raises ConflictError, naming the file, when one is not what it was at verification; nothing is written then. When a
    write fails, what was written before is put back and the SandboxError names the file that failed.
    """
    for path, found in hashes(root, base_hashes).items():
        if found != base_hashes[path]:
            raise ConflictError(f"{path} changed since the proposal was verified; run the task again on the new file")
    changes = plan(root, proposal)
    before = {path: read_state(root, path) for path in changes}
    new_folders = _missing_parents(root, changes)
    written: list[str] = []
    try:
        for path in in_writing_order(changes):
            written.append(path)
            put(root, path, changes[path])
    except BaseException as error:
        lost = _put_back(root, before, written, new_folders)
        if isinstance(error, OSError):
            rest = f"{', '.join(lost)} could not be put back" if lost else "all other files are as they were"
            raise SandboxError(f"{path} could not be written ({error.strerror or error}); {rest}") from error
        raise
    return tuple(changes)


def _put_back(root: Path, before: Changes, written: Sequence[str], new_folders: Sequence[Path]) -> list[str]:
    lost = []
    for path in reversed(written):
        try:
            put(root, path, before[path])
        except OSError:
            lost.append(path)
    for folder in new_folders:
        with suppress(OSError):
            folder.rmdir()
    return lost


def _missing_parents(root: Path, paths: Iterable[str]) -> list[Path]:
    """Return the folders that writing `paths` will make, deepest first."""
    parents = {parent for path in paths for parent in safe_target(root, path).parents}
    inside = (parent for parent in parents if parent.is_relative_to(root) and not parent.exists())
    return sorted(inside, key=lambda folder: len(folder.parts), reverse=True)


@dataclass(frozen=True)
class Commit:
    """A commit and the paths it holds, relative to the workspace."""

    sha: str
    paths: tuple[str, ...]


def commit(root: Path, paths: Sequence[str], *, message: str) -> Commit:
    """Commit `paths` and nothing else, whatever else is changed or staged, and return what was committed.

    Ignored files are left out. Hooks see `SHIPPING` in their environment. Raises SandboxError when there is no git, no
    repository or nothing to commit.
    """
    if run_git(root, "rev-parse", "--is-inside-work-tree").returncode != 0:
        raise SandboxError(f"{root} is no git repository; run git init there to ship")
    known = _changed(root, paths)
    if not known:
        raise SandboxError(
            f"there is nothing to commit in {', '.join(paths)}; it is committed already, or ignored by git"
        )
    new = [path for path, status in known.items() if status == "??"]
    if new:
        git_output(root, "add", "--", *new)
    try:
        git_output(root, "commit", "--quiet", f"--message={message}", "--only", "--", *known, env={SHIPPING: "1"})
    except SandboxError:
        if new:
            run_git(root, "rm", "--cached", "--quiet", "--", *new)
        raise
    return Commit(git_output(root, "rev-parse", "HEAD").decode().strip(), tuple(known))


def _changed(root: Path, paths: Sequence[str]) -> dict[str, str]:
    """Return the status of those of `paths` that differ from the last commit, ignored ones left out."""
    prefix = git_output(root, "rev-parse", "--show-prefix").decode().strip()
    listed = git_output(root, "status", "--porcelain", "-z", "--untracked-files=all", "--no-renames", "--", *paths)
    entries = (os.fsdecode(entry) for entry in listed.split(b"\0") if entry)
    return {entry[3:].removeprefix(prefix): entry[:2] for entry in entries}
