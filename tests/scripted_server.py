"""A real HTTP server that answers chats as it is told, for what needs a server but no model."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class ScriptedServer(ThreadingHTTPServer):
    """Answers every chat with `pieces`, streamed where the request asks for it.

    `before_piece` is called with the number of each piece before it is sent; `raw` is sent as the body of a stream as
    it stands, `whole` says whether its end is told. Chats that are not streamed get `answers` in turn where there are
    any, the last one again and again; `before_answer` is called with the number of each, from 1. `asked` holds the
    bodies of all chats, `adapters` are the rows it says it holds; `hung_up` is set when a client left in the middle.
    """

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.pieces: Sequence[str] = ("Use ", "`Path.open`", ".")
        self.answers: Sequence[str] = ()
        self.before_answer: Callable[[int], object] = lambda number: None
        self.finish = "stop"
        self.before_piece: Callable[[int], object] = lambda number: None
        self.raw: Sequence[bytes] = ()
        self.whole = True
        self.status = 200
        self.adapters: Sequence[dict[str, Any]] = ()
        self.asked: list[dict[str, Any]] = []
        self.hung_up = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


@contextmanager
def scripted_server() -> Iterator[ScriptedServer]:
    """Run a server for the length of a `with` block."""
    with ScriptedServer() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: ScriptedServer

    def do_GET(self) -> None:
        self._json(200, list(self.server.adapters) if self.path == "/lora-adapters" else {"status": "ok"})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append(body)
        if self.server.status != 200:
            self._json(self.server.status, {"error": {"message": "the context is full"}})
        elif body["stream"]:
            self._stream()
        else:
            message = {"role": "assistant", "content": self._answer(len(self.server.asked))}
            usage = {"prompt_tokens": 7, "completion_tokens": 3}
            choice = {"message": message, "finish_reason": self.server.finish}
            self._json(200, {"choices": [choice], "usage": usage})

    def _answer(self, number: int) -> str:
        self.server.before_answer(number)
        answers = self.server.answers or ["".join(self.server.pieces)]
        return answers[min(number, len(answers)) - 1]

    def _stream(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        try:
            for block in self.server.raw or self._events():
                self.wfile.write(b"%x\r\n%b\r\n" % (len(block), block))
                self.wfile.flush()
            if self.server.whole:
                self.wfile.write(b"0\r\n\r\n")
            else:
                self.close_connection = True
        except OSError:
            self.server.hung_up.set()
            self.close_connection = True

    def _events(self) -> Iterator[bytes]:
        for number, piece in enumerate(self.server.pieces):
            self.server.before_piece(number)
            yield event({"content": piece})
        yield event({}, finish=self.server.finish)
        yield b'data: {"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":3}}\n\ndata: [DONE]\n\n'

    def _json(self, status: int, value: Any) -> None:
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        pass


def event(delta: dict[str, str], *, finish: str | None = None) -> bytes:
    """Return one server-sent event with a piece of an answer, as llama.cpp's server writes it."""
    choice = {"finish_reason": finish, "index": 0, "delta": delta}
    return b"data: " + json.dumps({"choices": [choice]}, ensure_ascii=False).encode() + b"\n\n"
