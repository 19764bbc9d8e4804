"""The program that tests kill: it applies a proposal, and may end itself at its Nth change of the disk.

usage: python -m tests.sandbox.applying ROOT PROPOSAL BASE_HASHES apply|revert [N]
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

from cipher_nb.sandbox.journal import revert
from cipher_nb.sandbox.proposal.edits import parse_proposal
from cipher_nb.sandbox.ship import apply_to_tree

CHANGES = ("os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.symlink", "os.chmod")


def die_at(number: int) -> None:
    """Let this process be killed, as by kill -9, in front of its Nth change of the disk; report how many there were."""
    count = 0

    def audit(event: str, arguments: tuple[object, ...]) -> None:
        nonlocal count
        if event in CHANGES or (event == "open" and arguments[1] in ("x", "xb", "xb+")):
            count += 1
            if count == number:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(audit)


def main(root: Path, proposal: str, base_hashes: str, action: str, number: str = "0") -> None:
    edits, hashes = parse_proposal(Path(proposal).read_text()), json.loads(Path(base_hashes).read_text())
    print("ready", flush=True)
    die_at(int(number))
    if action == "apply":
        apply_to_tree(root, edits, base_hashes=hashes, aide=root / ".aide", task="t1")
    else:
        revert(root, root / ".aide", "t1")


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
