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

from cipher_nb.config import SandboxSettings
from cipher_nb.sandbox.checks.isolation import available, launch_command
from cipher_nb.sandbox.checks.output import Output
from cipher_nb.sandbox.checks.view import HOME, TEMPORARY, link_tools
from cipher_nb.sandbox.outcome import CheckResult

END_TIMEOUT_S = 2.0
MAX_PRINTED_MB = 256
KILLED = 128 + signal.SIGKILL


def run_check(command: str, *, copy: Path, settings: SandboxSettings, isolation: str | None = None) -> CheckResult:
    """Run `command` in `copy` and return how it ended; it passed only with exit status 0 within the limits.

    `command` is split as a shell would, never given to one. `isolation` is one of isolation.KINDS, by default the best
    that works here. When this returns, its processes are gone.
    """
    copy = copy.resolve()
    started = time.monotonic()
    held_by = isolation or available()
    output = Output(settings.max_output_bytes)
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


def _run(argv: list[str], *, copy: Path, settings: SandboxSettings, held_by: str, output: Output) -> int | None:
    """Return the exit status, or None when the time limit ended the run."""
    with tempfile.TemporaryDirectory(prefix="cipher-", ignore_cleanup_errors=True) as own:
        process = subprocess.Popen(
            launch_command(argv, kind=held_by, copy=copy, settings=settings),
            cwd=copy,
            env=_environment(copy, Path(own) if held_by == "none" else None),
            stdin=subprocess.PIPE,  # the launcher's sign that somebody still waits
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            bufsize=0,
        )
        reader = threading.Thread(target=_drain, args=(process, output), daemon=True)
        waiter = threading.Thread(target=process.wait, daemon=True)  # wait(timeout) would sleep up to 50 ms too long
        reader.start()
        waiter.start()
        try:
            waiter.join(timeout=settings.timeout_s)
            exit_code: int | None = process.returncode
        finally:
            _end(process, waiter, marker=own, held_by=held_by)
            reader.join(timeout=END_TIMEOUT_S)
    if exit_code == KILLED and output.fed > MAX_PRINTED_MB * 2**20:
        output.feed(f"\nended: it printed over {MAX_PRINTED_MB} MB\n".encode())
    return exit_code


def _environment(copy: Path, own: Path | None) -> Mapping[str, str]:
    """Return the few variables a check sees; `own` stands in for home and temporary folder where those are not apart.

    PYTHONPATH leads with the copy: an editable install of the project would otherwise be tested in its stead.
    """
    home, temporary = HOME, TEMPORARY
    if own:
        home, temporary = str(own / "home"), str(own / "tmp")
        (own / "home").mkdir()
        (own / "tmp").mkdir()
        link_tools(own / "home")
    sources = [copy / "src", copy] if (copy / "src").is_dir() else [copy]
    return {
        "PATH": os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath))),
        "LANG": "C.UTF-8",
        "HOME": home,
        "TMPDIR": temporary,
        "PYTHONPATH": os.pathsep.join(map(str, sources)),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONUNBUFFERED": "1",
        "CARGO_NET_OFFLINE": "true",
        "PWD": str(copy),
        "GIT_CEILING_DIRECTORIES": str(copy.parent),
    }


def _drain(process: subprocess.Popen[bytes], output: Output) -> None:
    assert process.stdout is not None
    assert process.stdin is not None
    with process.stdout as stream:
        while chunk := os.read(stream.fileno(), 65_536):
            output.feed(chunk)
            if output.fed > MAX_PRINTED_MB * 2**20:
                process.stdin.close()


def _end(process: subprocess.Popen[bytes], waiter: threading.Thread, *, marker: str, held_by: str) -> None:
    """Let the launcher end what is left; end it and them from here where it could not."""
    assert process.stdin is not None
    process.stdin.close()
    waiter.join(timeout=END_TIMEOUT_S)
    if sys.platform == "linux" and process.returncode is not None and process.returncode >= 0:
        return
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    waiter.join()
    if held_by == "none":
        _kill_strays(marker)


def _kill_strays(marker: str) -> None:
    """Kill what left the process group: it is known by the temporary folder in its environment."""
    import psutil

    for stray in psutil.process_iter():
        with suppress(psutil.Error):
            if stray.environ().get("TMPDIR", "").startswith(marker):
                stray.kill()
