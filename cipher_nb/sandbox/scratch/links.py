"""Links in a scratch copy: none leads out of it."""

from __future__ import annotations

import os
from itertools import takewhile
from pathlib import Path

OUTSIDE = ".outside"


def link_text(path: str) -> str:
    """Return what a link says, letter by letter."""
    return os.readlink(path)  # noqa: PTH115 - pathlib would tidy it up


def harmless_target(root: str, name: str) -> str:
    """Return what the copy of the link `name` in `root` points to.

    That is what the link says, if it climbs no higher than `root`; the same file in the copy, where it leads back into
    `root` another way; and for everything else a path under `.outside/` in the copy, where nothing is.
    """
    text = link_text(f"{root}/{name}")
    steps = [step for step in text.split("/") if step not in ("", ".")]
    climbs = len(list(takewhile(lambda step: step == "..", steps)))
    if not text.startswith("/") and climbs <= name.count("/") and ".." not in steps[climbs:]:
        return text
    target = os.path.realpath(f"{root}/{name}")
    if os.path.commonpath((root, target)) != root:
        target = f"{root}/{OUTSIDE}{target}"
    return os.path.relpath(target, Path(root, name).parent)
