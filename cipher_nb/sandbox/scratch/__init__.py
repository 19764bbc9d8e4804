"""Scratch copies: the project's own files under `.aide/sandboxes/`, without `.git` and `.aide`."""

from __future__ import annotations

from pathlib import Path

from cipher_nb.errors import SandboxError
from cipher_nb.sandbox.scratch import manifest
from cipher_nb.sandbox.scratch.copies import finish, in_use, take_over
from cipher_nb.sandbox.scratch.listing import Listing, list_files, survey
from cipher_nb.sandbox.scratch.prune import prune
from cipher_nb.sandbox.scratch.removal import remove
from cipher_nb.sandbox.scratch.repair import Repair

__all__ = ["Listing", "in_use", "list_files", "make_copy", "prune"]


def make_copy(root: Path, sandbox: Path) -> Listing:
    """Make `sandbox` hold the project in `root` and nothing else, point `current` beside it to it, and return its list.

    Only what changed is copied where `sandbox` holds the rest, or a copy in the same folder that no task uses any more
    (see `in_use`): that one is then renamed. A link that leads out of the project points to nothing in the copy.
    Raises SandboxError when the disk does not allow it.
    """
    root = root.resolve()
    try:
        sandbox.parent.mkdir(parents=True, exist_ok=True)
        seen_from = manifest.clock(sandbox.parent)
        found = survey(root)
        known = take_over(sandbox)
        if sandbox.is_symlink() or sandbox.is_file():
            remove(sandbox)
        repair = Repair(str(root), str(sandbox), found, known, seen_from)
        repair.run()
        finish(sandbox, manifest.settled(repair.rows, sandbox.parent))
    except OSError as error:
        raise SandboxError(
            f"the copy in {sandbox} could not be made: {error}; free space or fix permissions"
        ) from error
    return found.listing()
