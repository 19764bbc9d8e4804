"""Bring a verified proposal to the real tree, all of it or nothing, and commit it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cipher_nb.errors import ConflictError, SandboxError
from cipher_nb.files import write_atomic
from cipher_nb.sandbox import journal
from cipher_nb.sandbox.git import git_output, run_git
from cipher_nb.sandbox.proposal.changes import hashes, plan
from cipher_nb.sandbox.proposal.edits import Proposal

SHIPPING = "CIPHER_NB_SHIPPING"
"""Set in the environment of a commit that is recorded by who made it: a hook need not."""


def apply_to_tree(
    root: Path, proposal: Proposal, *, base_hashes: Mapping[str, str], aide: Path, task: str
) -> tuple[str, ...]:
    """Carry `proposal` out in the real tree and return the paths it touched; `journal.revert` takes it back.

    Raises ConflictError, naming the file, when one is not what it was at verification; nothing is written then. When a
    write fails, what was written before is put back and the SandboxError names the file that failed.
    """
    for path, found in hashes(root, base_hashes).items():
        if found != base_hashes[path]:
            raise ConflictError(f"{path} changed since the proposal was verified; run the task again on the new file")
    changes = plan(root, proposal)
    journal.apply(root, aide, task, changes)
    return tuple(changes)


@dataclass(frozen=True)
class Commit:
    """A commit and the paths it holds, relative to the workspace."""

    sha: str
    paths: tuple[str, ...]


def commit_once(root: Path, paths: Sequence[str], *, message: str, note: Path) -> Commit:
    """Commit as `commit` does, or return the commit of an earlier call that was cut off after it.

    `note` is a file of the caller's that keeps where HEAD stood before.
    """
    _require_repository(root)
    head = _head(root)
    if note.exists() and not _changed(root, paths):
        earlier = _commit_since(root, note.read_text(), paths)
        if earlier:
            return earlier
    write_atomic(note, head)
    return commit(root, paths, message=message)


def _head(root: Path) -> str:
    done = run_git(root, "rev-parse", "--verify", "--quiet", "HEAD")
    return done.stdout.decode().strip()


def _commit_since(root: Path, head: str, paths: Sequence[str]) -> Commit | None:
    """Return the newest commit after `head` that changed one of `paths`."""
    span = f"{head}..HEAD" if head else "HEAD"
    sha = git_output(root, "log", "--max-count=1", "--format=%H", span, "--", *paths).decode().strip()
    if not sha:
        return None
    form = ("--format=", "--name-only", "--no-renames", "--relative", "-z")
    listed = git_output(root, "show", *form, sha, "--", *paths)
    return Commit(sha, tuple(os.fsdecode(name) for name in listed.split(b"\0") if name))


def commit(root: Path, paths: Sequence[str], *, message: str) -> Commit:
    """Commit `paths` and nothing else, whatever else is changed or staged, and return what was committed.

    Ignored files are left out. Hooks see `SHIPPING` in their environment. Raises SandboxError when there is no git, no
    repository or nothing to commit.
    """
    _require_repository(root)
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


def _require_repository(root: Path) -> None:
    if run_git(root, "rev-parse", "--is-inside-work-tree").returncode != 0:
        raise SandboxError(f"{root} is no git repository; run git init there to ship")


def _changed(root: Path, paths: Sequence[str]) -> dict[str, str]:
    """Return the status of those of `paths` that differ from the last commit, ignored ones left out."""
    prefix = git_output(root, "rev-parse", "--show-prefix").decode().strip()
    listed = git_output(root, "status", "--porcelain", "-z", "--untracked-files=all", "--no-renames", "--", *paths)
    entries = (os.fsdecode(entry) for entry in listed.split(b"\0") if entry)
    return {entry[3:].removeprefix(prefix): entry[:2] for entry in entries}
