"""Removing what a check left behind."""

from __future__ import annotations

import secrets
from pathlib import Path

GONE = ".gone."


def remove(path: Path) -> None:
    """Remove a file, a link or a whole folder, whatever its permissions and however deep; links are not followed.

    Folders are moved up beside `path` as `.gone.*` before they are emptied, so that no path gets too long.
    """
    if path.is_symlink() or not path.is_dir():
        path.unlink()
        return
    pending = [path]
    while pending:
        folder = pending.pop()
        folder.chmod(0o700)
        for inner in list(folder.iterdir()):
            if inner.is_symlink() or not inner.is_dir():
                inner.unlink()
            else:
                inner.chmod(0o700)  # a folder that may not be written cannot be moved
                pending.append(inner.rename(path.with_name(f"{GONE}{secrets.token_hex(8)}")))
        folder.rmdir()
