"""Run the code in an answer: in the sandbox, held in, and never without it."""

from __future__ import annotations

import secrets
import shlex
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from cipher_nb.battery.code import RunCode
from cipher_nb.config import SandboxSettings
from cipher_nb.sandbox.checks.isolation import available
from cipher_nb.sandbox.checks.run import run_check

TIMEOUT_S = 10.0
MAX_OUTPUT_BYTES = 4_096
MAX_MEMORY_MB = 1_024
MAX_FILE_MB = 16


def can_run_code() -> bool:
    """Tell whether something on this machine holds code in."""
    return available() != "none"


def code_runner(settings: SandboxSettings, *, isolation: str | None = None) -> RunCode:
    """Return what runs a program in a folder of its own, without a network or sight of the disk, for at most 10 s.

    It tells True only for a program that came to its end, also where one leaves early with status 0, and None where it
    was not begun, or where nothing holds it in on this machine.
    """
    held_by = isolation or available()
    limits = replace(
        settings,
        timeout_s=TIMEOUT_S,
        max_output_bytes=MAX_OUTPUT_BYTES,
        max_memory_mb=MAX_MEMORY_MB,
        max_file_mb=MAX_FILE_MB,
    )

    def run_code(program: str) -> bool | None:
        if held_by == "none":
            return None
        begun, ended = secrets.token_hex(16), secrets.token_hex(16)
        with tempfile.TemporaryDirectory(prefix="cipher-code-") as folder:
            Path(folder, "answer.py").write_text(_framed(program, begun, ended), encoding="utf-8")
            command = shlex.join([sys.executable, "-I", "answer.py"])
            try:
                result = run_check(command, copy=Path(folder), settings=limits, isolation=held_by)
            except OSError:
                return None
        return (result.passed and ended in result.output) if begun in result.output else None

    return run_code


def _framed(program: str, begun: str, ended: str) -> str:
    """Return a script that says when `program` begins and when it has ended, whatever becomes of its own output."""
    return (
        "import os\n"
        "say = os.write\n"
        f'say(1, b"{begun}\\n")\n'
        f'exec(compile({program!a}, "answer.py", "exec"), {{"__name__": "__main__"}})\n'
        f'say(1, b"\\n{ended}\\n")\n'
    )
