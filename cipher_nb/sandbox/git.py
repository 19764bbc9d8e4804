"""Asking the operator's own git."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from cipher_nb.errors import SandboxError

TIMEOUT_S = 120.0


def run_git(root: Path, *arguments: str, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[bytes]:
    """Run git in `root`, paths taken literally and without a terminal; a failure is in the returncode.

    GIT_* of the caller (a hook sets them) is dropped, so that `root` alone says which repository is meant; `env` is
    added. Raises SandboxError when git is not installed or does not come back.
    """
    program = shutil.which("git")
    if program is None:
        raise SandboxError("git is not installed, or not on PATH; install it to copy by its list and to ship")
    environment = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    try:
        return subprocess.run(
            [program, "--literal-pathspecs", *arguments],
            cwd=root,
            env=environment | {"GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C.UTF-8"} | dict(env or {}),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise SandboxError(
            f"git {arguments[0]} took over {TIMEOUT_S:.0f} s in {root}; look for a waiting hook"
        ) from error


def git_output(root: Path, *arguments: str, env: Mapping[str, str] | None = None) -> bytes:
    """Return git's stdout; a failure is a SandboxError with git's own words in one line."""
    done = run_git(root, *arguments, env=env)
    if done.returncode != 0:
        words = " ".join((done.stderr or done.stdout).decode(errors="replace").split())
        raise SandboxError(f"git {arguments[0]} failed in {root}: {words[:300]}")
    return done.stdout
