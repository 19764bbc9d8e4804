"""The unified diff that the operator sees, and that `git apply` takes."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from pathlib import Path

from cipher_nb.sandbox.changes import Changes, FileState, read_state

NO_NEWLINE = "\n\\ No newline at end of file\n"


def unified_diff(root: Path, changes: Changes) -> str:
    """Return what turns the files in `root` into `changes`, sorted by path; "" when nothing differs."""
    return "".join(_file_diff(path, read_state(root, path), changes[path]) for path in sorted(changes))


def _file_diff(path: str, before: FileState | None, after: FileState | None) -> str:
    if (before and before.data) == (after and after.data):
        return ""
    head = f"diff --git a/{path} b/{path}\n"
    if before is None and after is not None:
        head += f"new file mode {_git_mode(after)}\n"
    if after is None and before is not None:
        head += f"deleted file mode {_git_mode(before)}\n"
    old_name, new_name = (f"a/{path}" if before else "/dev/null"), (f"b/{path}" if after else "/dev/null")
    try:
        old, new = _lines(before), _lines(after)
    except UnicodeDecodeError:
        return f"{head}Binary files {old_name} and {new_name} differ\n"
    body = difflib.unified_diff(old, new, old_name, new_name)
    return head + "".join(line if line.endswith("\n") else line + NO_NEWLINE for line in body)


def _git_mode(state: FileState) -> str:
    return "100755" if (state.mode or 0) & 0o100 else "100644"


def _lines(state: FileState | None) -> list[str]:
    return list(_split(state.data.decode())) if state else []


def _split(text: str) -> Iterator[str]:
    """Split at newlines only: str.splitlines also splits at form feeds and the like, which a diff must not."""
    *whole, last = text.split("\n")
    yield from (f"{line}\n" for line in whole)
    if last:
        yield last
