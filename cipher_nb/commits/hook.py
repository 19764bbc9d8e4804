"""The post-commit hook: put where git looks for it, beside whatever hook the operator has."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from pathlib import Path

from cipher_nb.errors import ConfigError
from cipher_nb.files import write_atomic
from cipher_nb.sandbox.git import run_git

NAME = "post-commit"
EARLIER = "post-commit.before-cipher-nb"
_SIGNATURE = "# cipher-nb records commits here."
_LINE = 'cipher-nb record-commit "$(git rev-parse HEAD)" >/dev/null 2>&1 &'

_SCRIPT = """\
#!/bin/sh
{signature} It waits for nothing, prints nothing and fails nothing; `cipher-nb init --git-hook` wrote it.
# A hook that stood here before is {earlier}: it runs first, and its exit code counts.
status=0
if [ -x "${{0%/*}}/{earlier}" ]; then
    "${{0%/*}}/{earlier}" "$@"
    status=$?
fi
workspace={inside}
[ -d "$workspace/.aide" ] || workspace={root}
if [ -d "$workspace/.aide" ] && command -v {program} >/dev/null 2>&1; then
    git_dir=$(git rev-parse --git-dir 2>/dev/null)
    commit=$(git rev-parse HEAD 2>/dev/null)
    if ! [ -d "$git_dir/rebase-merge" ] && ! [ -d "$git_dir/rebase-apply" ]; then
        (trap '' HUP; exec {command} record-commit --workspace "$workspace" "$commit") </dev/null >/dev/null 2>&1 &
    fi
fi
exit $status
"""


def install_hook(root: Path, *, program: Sequence[str]) -> Path:
    """Let git record every commit on the bus of the workspace in `root`, and return the hook's path.

    `program` is the command line of cipher-nb without its arguments. A hook that is there goes on working; where ours
    is there, nothing changes. Worktrees share it: one with an `.aide/` of its own records there, the others in `root`.
    Raises ConfigError where there is no git repository, and where the hooks are files of a work tree.
    """
    top, folder = _top(root), _hooks(root)
    hook, earlier = folder / NAME, folder / EARLIER
    text = _script(root, top, program)
    folder.mkdir(parents=True, exist_ok=True)
    if os.path.lexists(hook) and not _is_ours(hook):
        if os.path.lexists(earlier):
            raise ConfigError(f"{hook} and {earlier} are both there; make them one, or add to yours: {_LINE}")
        hook.rename(earlier)
        _write(hook, text, or_restore=earlier)
    elif not os.access(hook, os.X_OK) or hook.read_text() != text:
        _write(hook, text)
    return hook


def _top(root: Path) -> Path:
    done = run_git(root, "rev-parse", "--show-toplevel")
    if done.returncode != 0:
        words = " ".join(done.stderr.decode(errors="replace").split())
        raise ConfigError(
            f"{root} has no git work tree to put a hook in ({words[:200]}); "
            "run git init there, and then again: cipher-nb init --git-hook"
        )
    return Path(os.fsdecode(done.stdout.rstrip(b"\n"))).resolve()


def _hooks(root: Path) -> Path:
    told = os.fsdecode(run_git(root, "rev-parse", "--git-path", "hooks").stdout.rstrip(b"\n"))
    folder = (root / told).resolve()
    standing = next(each for each in (folder, *folder.parents) if each.exists())
    if not standing.is_dir():
        raise ConfigError(f"core.hooksPath = {told} is no folder, so git runs no hooks; set it to one, or unset it")
    if run_git(standing, "rev-parse", "--is-inside-work-tree").stdout.strip() == b"true":
        raise ConfigError(f"core.hooksPath = {told} is part of a work tree; add to your {NAME} there the line: {_LINE}")
    return folder


def _script(root: Path, top: Path, program: Sequence[str]) -> str:
    return _SCRIPT.format(
        signature=_SIGNATURE,
        earlier=EARLIER,
        inside=shlex.quote(os.path.relpath(root.resolve(), top)),
        root=shlex.quote(str(root.resolve())),
        program=shlex.quote(program[0]),
        command=shlex.join(program),
    )


def _is_ours(hook: Path) -> bool:
    return hook.is_file() and not hook.is_symlink() and _SIGNATURE.encode() in hook.read_bytes()


def _write(hook: Path, text: str, *, or_restore: Path | None = None) -> None:
    try:
        write_atomic(hook, text)
        hook.chmod(0o755)
    except BaseException:
        if or_restore:
            or_restore.replace(hook)
        raise
