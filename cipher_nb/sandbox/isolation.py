"""What holds a check in on this machine: user namespaces where they work, else nothing, and the name says which."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path

LAUNCHER = Path(__file__).with_name("launch.py")
UNSHARE_FLAGS = (
    "--user",
    "--map-current-user",
    "--keep-caps",
    "--net",
    "--ipc",
    "--pid",
    "--mount-proc",
    "--fork",
    "--kill-child",
)


@cache
def available() -> str:
    """Return "userns" or "none", found out once per process by starting a program that way.

    "userns": no network but the check's own loopback, its own process table, and a disk on which only the copy and the
    check's temporary folder can be written. "none": the limits of time, memory and output, and nothing else.
    """
    if sys.platform != "linux" or shutil.which("unshare") is None:
        return "none"
    with tempfile.TemporaryDirectory(prefix="cipher-") as folder:
        command = launch_command(["true"], isolation="userns", writable=[folder], max_memory_mb=0)
        try:
            probe = subprocess.run(command, cwd=folder, capture_output=True, timeout=10.0, check=False)
        except (OSError, subprocess.TimeoutExpired):
            return "none"
    return "userns" if probe.returncode == 0 else "none"


def launch_command(argv: Sequence[str], *, isolation: str, writable: Sequence[str], max_memory_mb: int) -> list[str]:
    """Return the command line that runs `argv` in the current folder, held in by `isolation`.

    `writable` are the folders that stay writable under "userns".
    """
    unshare = [shutil.which("unshare") or "unshare", *UNSHARE_FLAGS] if isolation == "userns" else []
    launcher = [sys.executable, "-I", "-S", str(LAUNCHER), isolation, str(max_memory_mb)]
    return [*unshare, *launcher, *writable, "--", *argv]
