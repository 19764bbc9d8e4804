"""What the tests of the extension talk to: a real Jupyter server in a process of its own, and a small engine."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx

TOKEN = "sesame"


@dataclass(frozen=True)
class Jupyter:
    """A running Jupyter server; `url` ends with its base URL."""

    url: str
    root: Path
    log: Path

    @property
    def api(self) -> str:
        return f"{self.url}api/cipher/"

    def client(self, **headers: str) -> httpx.Client:
        """Return a client of the extension that sends the token."""
        return self.bare(Authorization=f"token {TOKEN}", **headers)

    def bare(self, **headers: str) -> httpx.Client:
        """Return a client of the extension that sends no token."""
        return httpx.Client(base_url=self.api, headers=headers, trust_env=False, timeout=60)


@contextmanager
def jupyter(root: Path, *options: str, base_url: str = "/", log: Path, config: str = "") -> Iterator[Jupyter]:
    """Run a Jupyter server on a free port with the extension and no other, the token TOKEN and `config` as its file."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    settings = log.with_suffix(".py")
    settings.write_text(config)
    command = [
        *(sys.executable, "-P", "-m", "jupyter_server", "--no-browser", "--allow-root", f"--port={port}"),
        *("--ServerApp.port_retries=0", f"--IdentityProvider.token={TOKEN}", f"--ServerApp.base_url={base_url}"),
        *("--ServerApp.jpserver_extensions", "cipher_nb.server=True", f"--config={settings}"),
        *(f"--ServerApp.root_dir={root}", *options),
    ]
    env = {**os.environ, "JUPYTER_NO_CONFIG": "1", "JUPYTER_RUNTIME_DIR": str(log.parent / "runtime")}
    with log.open("wb") as output, subprocess.Popen(command, stdout=output, stderr=output, env=env) as process:
        try:
            server = Jupyter(f"http://127.0.0.1:{port}{base_url}", root, log)
            _await_answer(server, process)
            yield server
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()


def _await_answer(server: Jupyter, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < deadline:
        try:
            httpx.get(f"{server.url}api", trust_env=False)
            return
        except httpx.TransportError:
            time.sleep(0.05)
    raise AssertionError(server.log.read_text())


def sse(*documents: Any) -> bytes:
    """Return the documents as server-sent events; a text stands as it is."""
    texts = [document if isinstance(document, str) else json.dumps(document) for document in documents]
    return "".join(f"data: {text}\n\n" for text in texts).encode()


def delta(content: str | None = None, *, finish: str | None = None, **more: Any) -> dict[str, Any]:
    """Return one chunk of a streamed completion."""
    part = {**({} if content is None else {"content": content}), **more}
    return {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": part, "finish_reason": finish}]}


def completion(content: str | None, *, finish: str = "stop", **more: Any) -> dict[str, Any]:
    """Return a whole completion."""
    message = {"role": "assistant", "content": content, **more}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "small",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
    }


def _set() -> threading.Event:
    event = threading.Event()
    event.set()
    return event


@dataclass
class SmallEngine:
    """An engine of the tests' own: it records what it is asked, and answers what it was told to.

    `answer` is sent in `pieces` (sizes in bytes, the last one repeated), `pause_s` apart, and on from the first
    when `go_on` is set; `cut` closes the connection before the end. `left` counts the clients that went away while it
    was speaking.
    """

    answer: Any = field(default_factory=lambda: completion("Use pathlib."))
    status: int = 200
    pieces: Sequence[int] = (1_000_000,)
    pause_s: float = 0.0
    go_on: threading.Event = field(default_factory=_set)
    cut: bool = False
    asked: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    left: int = 0
    url: str = ""

    def reset(self) -> None:
        self.__dict__.update(vars(SmallEngine(url=self.url)))


@contextmanager
def small_engine() -> Iterator[SmallEngine]:
    """Run a small engine on a free loopback port."""
    engine = SmallEngine()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            known = {"/lora-adapters": [], "/v1/models": {"object": "list", "data": [{"id": "small"}]}}
            self._send(200, "application/json", [json.dumps(known[self.path]).encode()])

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            engine.asked.append(json.loads(body))
            engine.headers.append(dict(self.headers.items()))
            streamed = isinstance(engine.answer, bytes)
            data = engine.answer if streamed else json.dumps(engine.answer).encode()
            kind = "text/event-stream" if streamed else "application/json; charset=utf-8"
            self._send(engine.status, kind, list(cut_up(data, engine.pieces)))

        def _send(self, status: int, kind: str, chunks: list[bytes]) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            try:
                for chunk in chunks:
                    self.wfile.write(b"%x\r\n%s\r\n" % (len(chunk), chunk))
                    self.wfile.flush()
                    time.sleep(engine.pause_s)
                    if self.command == "POST":
                        engine.go_on.wait(60)
                if engine.cut and self.command == "POST":
                    self.close_connection = True
                else:
                    self.wfile.write(b"0\r\n\r\n")
            except (BrokenPipeError, ConnectionResetError):
                engine.left += 1
                self.close_connection = True

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    engine.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield engine
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def cut_up(data: bytes, sizes: Sequence[int]) -> Iterator[bytes]:
    """Yield `data` in pieces of `sizes`, the last size repeated."""
    place = turn = 0
    while place < len(data):
        size = sizes[min(turn, len(sizes) - 1)]
        yield data[place : place + size]
        place, turn = place + size, turn + 1


def until(happened: Callable[[], Any], *, timeout_s: float = 60.0) -> None:
    """Wait for something that another process does."""
    deadline = time.monotonic() + timeout_s
    while not happened():
        assert time.monotonic() < deadline
        time.sleep(0.02)
