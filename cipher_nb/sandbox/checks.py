"""Run one check against a copy: no shell, a clean environment, limits, and nothing left running afterwards."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from cipher_nb.config import SandboxSettings
from cipher_nb.sandbox import isolation
from cipher_nb.sandbox.outcome import CheckResult

DRAIN_TIMEOUT_S = 2.0


def run_check(command: str, *, copy: Path, settings: SandboxSettings) -> CheckResult:
    """Run `command` in `copy` and return how it ended; it passed only with exit status 0 within the time limit.

    `command` is split as a shell would, never given to one. When this returns, its processes are gone.
    """
    copy = copy.resolve()
    started = time.monotonic()
    held_by = isolation.available()
    output = _HeadAndTail(settings.max_output_bytes)
    try:
        argv = shlex.split(command)
    except ValueError as error:
        argv = []
        output.feed(f"the check {command!r} cannot be split into words: {error}".encode())
    exit_code = _run(argv, copy=copy, settings=settings, held_by=held_by, output=output) if argv else 127
    return CheckResult(
        command=command,
        passed=exit_code == 0,
        exit_code=exit_code,
        duration_ms=round((time.monotonic() - started) * 1000),
        output=output.text() or ("the check is an empty command" if not argv else ""),
        timed_out=exit_code is None,
        isolation=held_by,
    )


def _run(argv: list[str], *, copy: Path, settings: SandboxSettings, held_by: str, output: _HeadAndTail) -> int | None:
    """Return the exit status, or None when the time limit ended the run."""
    with tempfile.TemporaryDirectory(prefix="cipher-", ignore_cleanup_errors=True) as own:
        launch = isolation.launch_command(
            argv, isolation=held_by, writable=[str(copy), own], max_memory_mb=settings.max_memory_mb
        )
        process = subprocess.Popen(
            launch,
            cwd=copy,
            env=_environment(copy, Path(own)),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        assert process.stdout is not None
        reader = threading.Thread(target=_drain, args=(process.stdout, output), daemon=True)
        reader.start()
        try:
            return process.wait(timeout=settings.timeout_s)
        except subprocess.TimeoutExpired:
            return None
        finally:
            _end(process, marker=own, held_by=held_by)
            reader.join(timeout=DRAIN_TIMEOUT_S)


def _environment(copy: Path, own: Path) -> Mapping[str, str]:
    """Return the few variables a check sees.

    PYTHONPATH leads with the copy: an editable install of the project would otherwise be tested in its stead.
    """
    (own / "home").mkdir()
    (own / "tmp").mkdir()
    sources = [copy / "src", copy] if (copy / "src").is_dir() else [copy]
    return {
        "PATH": os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath))),
        "LANG": "C.UTF-8",
        "HOME": str(own / "home"),
        "TMPDIR": str(own / "tmp"),
        "PYTHONPATH": os.pathsep.join(map(str, sources)),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONUNBUFFERED": "1",
        "GIT_CEILING_DIRECTORIES": str(copy.parent),
    }


def _drain(stream: BinaryIO, output: _HeadAndTail) -> None:
    with stream:
        while chunk := os.read(stream.fileno(), 65_536):
            output.feed(chunk)


def _end(process: subprocess.Popen[bytes], *, marker: str, held_by: str) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    if held_by == "none":
        _kill_strays(marker)


def _kill_strays(marker: str) -> None:
    """Kill what left the process group: it is known by the temporary folder in its environment."""
    import psutil

    for stray in psutil.process_iter():
        with suppress(psutil.Error):
            if stray.environ().get("TMPDIR", "").startswith(marker):
                stray.kill()


class _HeadAndTail:
    """Keeps the first quarter and the last three quarters of `limit` bytes, whatever is fed."""

    def __init__(self, limit: int) -> None:
        self._head, self._tail = bytearray(), bytearray()
        self._head_limit = limit // 4
        self._tail_limit = limit - self._head_limit
        self._dropped = 0

    def feed(self, chunk: bytes) -> None:
        room = self._head_limit - len(self._head)
        self._head += chunk[:room]
        self._tail += chunk[room:]
        excess = len(self._tail) - self._tail_limit
        if excess > 0:
            del self._tail[:excess]
            self._dropped += excess

    def text(self) -> str:
        gap = f"\n… {self._dropped} bytes left out …\n".encode() if self._dropped else b""
        return (self._head + gap + self._tail).decode(errors="replace")
