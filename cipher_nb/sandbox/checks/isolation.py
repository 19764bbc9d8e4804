"""What holds a check in on this machine: bubblewrap, else user namespaces, else nothing, and the name says which.

"bubblewrap" and "userns" promise the same: no network but a loopback of the check's own, no process seen but its own,
no right that it could gain, and a disk that holds the system, the tools and the copy, of which only the copy and
temporary folders in memory can be written. "none" promises the limits, which all three share (see launch.py).
"""

from __future__ import annotations

import math
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from cipher_nb.config import SandboxSettings
from cipher_nb.sandbox.checks.view import disk

KINDS = ("bubblewrap", "userns", "none")
LAUNCHER = Path(__file__).with_name("launch.py")
ENTER = Path(__file__).with_name("enter.py")
PROBE_TIMEOUT_S = 10.0
PYTHON = (sys.executable, "-I", "-S")
BWRAP_FLAGS = (
    *("--unshare-user", "--unshare-net", "--unshare-ipc", "--unshare-pid", "--unshare-uts", "--unshare-cgroup-try"),
    *("--cap-drop", "ALL", "--as-pid-1", "--die-with-parent"),
)
UNSHARE_FLAGS = (
    *("--user", "--map-current-user", "--keep-caps", "--net", "--ipc", "--pid", "--uts", "--mount"),
    *("--fork", "--kill-child"),
)


@cache
def available() -> str:
    """Return the best of KINDS that works here, found out once per process by starting a program each way."""
    return next(kind for kind in KINDS if works(kind))


@cache
def works(kind: str) -> bool:
    """Whether a program could be started under `kind`; asked once per process."""
    if kind == "none":
        return True
    program = {"bubblewrap": "bwrap", "userns": "unshare"}[kind]
    if sys.platform != "linux" or shutil.which(program) is None:
        return False
    with tempfile.TemporaryDirectory(prefix="cipher-") as folder:
        copy = Path(folder).resolve()
        command = launch_command(["true"], kind=kind, copy=copy, settings=SandboxSettings())
        with subprocess.Popen(command, cwd=copy, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL) as probe:
            try:
                return probe.wait(timeout=PROBE_TIMEOUT_S) == 0
            except subprocess.TimeoutExpired:
                probe.kill()
                return False


def launch_command(argv: Sequence[str], *, kind: str, copy: Path, settings: SandboxSettings) -> list[str]:
    """Return the command line that runs `argv` in `copy`, held in by `kind` and by the limits of `settings`.

    It ends, and all it started with it, when its standard input is closed.
    """
    limits = (settings.max_memory_mb, math.ceil(settings.timeout_s), settings.max_file_mb, settings.max_processes)
    launch = [*PYTHON, str(LAUNCHER), *map(str, limits), "--", *argv]
    if kind == "none":
        return launch
    view = disk(copy, launcher=LAUNCHER, room_mb=settings.max_file_mb)
    if kind == "bubblewrap":
        return ["bwrap", *BWRAP_FLAGS, *view, "--", *launch]
    return ["unshare", *UNSHARE_FLAGS, *PYTHON, str(ENTER), *view, "--", *launch]
