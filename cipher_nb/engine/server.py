"""Start and stop llama.cpp's server in a child process of ours."""

from __future__ import annotations

import json
import os
import secrets
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from cipher_nb.config import EngineSettings
from cipher_nb.engine.client import Client
from cipher_nb.errors import EngineStartError


@dataclass(frozen=True)
class ServeSpec:
    """What a server loads. Every adapter is loaded at scale 0; `swap` decides which one answers."""

    model: Path
    alias: str
    adapters: tuple[Path, ...]
    settings: EngineSettings
    slot_folder: Path
    log: Path


@dataclass(frozen=True)
class Running:
    """A started server: its address, its key and the process that hosts it."""

    url: str
    api_key: str
    process: subprocess.Popen[bytes]

    def client(self, settings: EngineSettings) -> Client:
        return Client(self.url, api_key=self.api_key, timeout_s=settings.request_timeout_s)

    def stop(self, *, timeout_s: float = 15.0) -> None:
        """End the server: politely, then by force. Safe to call twice."""
        if self.process.stdin:
            self.process.stdin.close()
        self.process.terminate()
        try:
            self.process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


@contextmanager
def serving(spec: ServeSpec) -> Iterator[Client]:
    """Run a server for the length of a `with` block and hand out its client.

    The server also ends when this process is killed. Raises EngineStartError with the cause from the log.
    """
    running = start(spec, watch_parent=True)
    try:
        with running.client(spec.settings) as client:
            yield client
    finally:
        running.stop()


def start(spec: ServeSpec, *, watch_parent: bool) -> Running:
    """Start a server on a free loopback port, with a random key, and return once it answers.

    With `watch_parent` it dies with this process; without, it goes on until it is told to stop.
    """
    spec.slot_folder.mkdir(parents=True, exist_ok=True)
    spec.log.parent.mkdir(parents=True, exist_ok=True)
    api_key = secrets.token_urlsafe(24)
    with spec.log.open("wb") as log:
        process = subprocess.Popen(
            # -P: a module in the folder we stand in must not stand in for one of ours
            [sys.executable, "-P", "-m", "cipher_nb.engine.host"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            start_new_session=True,
            # Threads that wait for each other sleep: beside any other busy process, spinning costs most of the speed.
            env={"OMP_WAIT_POLICY": "PASSIVE", **os.environ},
        )
    request = {
        "model": str(spec.model),
        "alias": spec.alias,
        "adapters": [str(path) for path in spec.adapters],
        "slots": spec.settings.slots,
        "context_tokens": spec.settings.context_tokens,
        "threads": spec.settings.threads or os.cpu_count() or 1,
        "slot_folder": str(spec.slot_folder),
        "api_key": api_key,
        "watch_parent": watch_parent,
    }
    try:
        running = Running(url=_await_url(process, request, spec), api_key=api_key, process=process)
        with running.client(spec.settings) as client:
            _await_health(client, timeout_s=spec.settings.start_timeout_s)
    except BaseException:
        process.kill()
        process.wait()
        raise
    return running


def _await_url(process: subprocess.Popen[bytes], request: dict[str, object], spec: ServeSpec) -> str:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(request).encode() + b"\n")
    process.stdin.flush()
    ready, _, _ = select.select([process.stdout], [], [], spec.settings.start_timeout_s)
    if not ready:
        raise EngineStartError(
            f"the server for {spec.model.name} did not answer within {spec.settings.start_timeout_s:g} s; "
            f"raise [engine] start_timeout_s or read {spec.log}"
        )
    line = process.stdout.readline()
    process.stdout.close()
    message = json.loads(line) if line.strip() else {"error": f"the process ended with {process.wait()}"}
    if "url" not in message:
        raise EngineStartError(f"the server for {spec.model.name} did not start: {_cause(spec.log, message['error'])}")
    return str(message["url"])


def _await_health(client: Client, *, timeout_s: float) -> None:
    deadline = time.monotonic() + timeout_s
    while not client.healthy():
        if time.monotonic() > deadline:
            raise EngineStartError(f"{client.url} is not healthy after {timeout_s:g} s; raise [engine] start_timeout_s")
        time.sleep(0.05)


def _cause(log: Path, message: str) -> str:
    """Return the log's own error lines: the wheel says only "Failed to init server"."""
    lines = log.read_text(errors="replace").splitlines()
    errors = [line.split(" E ", 1)[1].strip() for line in lines if " E " in line]
    return "; ".join([*errors[:2], message, f"log: {log}"])


def is_alive(pid: int, started: float) -> bool:
    """Tell whether the process `pid` still runs and is the one that started at `started` (seconds, epoch)."""
    import psutil

    try:
        process = psutil.Process(pid)
        return process.status() != psutil.STATUS_ZOMBIE and abs(process.create_time() - started) < 1.0
    except psutil.NoSuchProcess:
        return False


def started_at(pid: int) -> float:
    """Return when process `pid` started, in seconds since the epoch."""
    import psutil

    return float(psutil.Process(pid).create_time())


def stop_process(pid: int, *, timeout_s: float = 15.0) -> None:
    """End process `pid` and wait until it is gone: politely, then by force."""
    import psutil

    try:
        process = psutil.Process(pid)
        process.terminate()
        try:
            process.wait(timeout_s)
        except psutil.TimeoutExpired:
            process.kill()
            process.wait(timeout_s)
    except psutil.NoSuchProcess:
        return
