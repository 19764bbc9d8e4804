"""Whole trees for tests of applying and undoing: what they are to the last bit, and how to make them."""

from __future__ import annotations

import os
import stat
from pathlib import Path


def snapshot(root: Path) -> dict[str, tuple[object, ...]]:
    """Return every entry of `root` but what lies in `.aide`: kind, mode and bytes or target."""
    entries: dict[str, tuple[object, ...]] = {}
    for path in sorted(root.rglob("*")):
        if ".aide" in path.relative_to(root).parts:
            continue
        mode = path.lstat().st_mode
        if stat.S_ISLNK(mode):
            entries[str(path.relative_to(root))] = ("link", os.readlink(path))  # noqa: PTH115 - Path would tidy it up
        elif stat.S_ISDIR(mode):
            entries[str(path.relative_to(root))] = ("folder", oct(stat.S_IMODE(mode)))
        else:
            entries[str(path.relative_to(root))] = ("file", oct(stat.S_IMODE(mode)), path.read_bytes())
    return entries


def make(root: Path, name: str, content: bytes | str, mode: int = 0o644) -> None:
    """Make a file of bytes, or a link of a str, with its folders."""
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, str):
        path.symlink_to(content)
    else:
        path.write_bytes(content)
        path.chmod(mode)
