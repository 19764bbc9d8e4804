"""The OpenAI-compatible endpoints: any client's chat, with the scaffold put in and the turn recorded."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import orjson
from jupyter_server.auth.decorator import authorized
from tornado import web
from tornado.iostream import StreamClosedError

from cipher_nb.errors import CipherError
from cipher_nb.server import query
from cipher_nb.server.exchange import Engine, Exchange, prepare, reach, record
from cipher_nb.server.handlers import CipherHandler
from cipher_nb.server.query import Query
from cipher_nb.server.said import Heard
from cipher_nb.workspace import Workspace

MAX_CHAT_BYTES = 16 * 1024 * 1024
TASK_HEADER = "X-Cipher-Task"
EVENT_STREAM = "text/event-stream"
CONNECT_TIMEOUT_S = 10.0
ERROR_TYPES = {403: "permission_error", 404: "not_found_error", 502: "engine_error"}


class OpenAIHandler(CipherHandler):
    """What the proxy's endpoints share: an engine to ask, and errors as OpenAI shapes them."""

    def error_body(self, status: int, message: str, reason: str) -> dict[str, Any]:
        kind = ERROR_TYPES.get(status, "invalid_request_error" if status < 500 else "server_error")
        return {"error": {"message": message, "type": kind, "code": reason.lower().replace(" ", "_")}}

    @asynccontextmanager
    async def asking(self, engine: Engine, verb: str, path: str, body: bytes = b"") -> AsyncIterator[httpx.Response]:
        """Ask the engine and hand out its answer: its status is taken over, its body still to be read.

        An engine that does not answer, or not to us, is a 502. Leaving early makes the engine stop.
        """
        timeout = httpx.Timeout(engine.timeout_s, connect=CONNECT_TIMEOUT_S)
        url = engine.url + path
        try:
            async with self.keeper.http.stream(
                verb, url, content=body, headers=engine.headers, timeout=timeout
            ) as answer:
                if answer.status_code in (401, 403):
                    raise web.HTTPError(502, f"{engine.url} refuses our key; check [engine] api_key_env")
                self.set_status(answer.status_code)
                yield answer
        except httpx.HTTPError as error:
            raise web.HTTPError(502, "%s", _cause(engine, error)) from error


class ModelsHandler(OpenAIHandler):
    @web.authenticated
    @authorized
    async def get(self) -> None:
        asked = self.query
        engine = await self.work("engine", lambda ws: _reached(ws, asked))
        async with self.asking(engine, "GET", "/v1/models") as answer:
            self.finish(await answer.aread())


class ChatHandler(OpenAIHandler):
    """Passes a chat to the engine and its answer back, a stream as it comes, and records what was said."""

    _gone = False
    _relaying: asyncio.Task[None] | None = None

    def on_connection_close(self) -> None:
        """Nobody waits for the answer any more, so the engine may stop."""
        super().on_connection_close()
        self._gone = True
        if self._relaying:
            self._relaying.cancel()

    @web.authenticated
    @authorized
    async def post(self) -> None:
        sent, asked, task = self.body(max_bytes=MAX_CHAT_BYTES), self.query, self.request.headers.get(TASK_HEADER)
        exchange = await self.work("engine", lambda ws: _prepared(ws, sent, asked, task))
        if self._gone:
            return
        heard = Heard()
        self._relaying = asyncio.create_task(self._relay(exchange, heard))
        try:
            await self._relaying
        except asyncio.CancelledError:
            if not self._gone:
                raise
        await self._record(exchange, heard)
        if not self._gone:
            self.finish(b"" if heard.streamed else heard.bytes)

    async def _relay(self, exchange: Exchange, heard: Heard) -> None:
        async with self.asking(exchange.engine, "POST", "/v1/chat/completions", exchange.body) as answer:
            if answer.status_code == 200:
                self.set_header(TASK_HEADER, exchange.task)
            heard.streamed = answer.headers.get("Content-Type", "").startswith(EVENT_STREAM)
            if heard.streamed:
                await self._stream(exchange.engine, answer, heard)
            else:
                heard.chunks.append(await answer.aread())

    async def _stream(self, engine: Engine, answer: httpx.Response, heard: Heard) -> None:
        self.set_header("Content-Type", EVENT_STREAM)
        self.set_header("Cache-Control", "no-cache")
        self.set_header("X-Accel-Buffering", "no")
        try:
            async for chunk in answer.aiter_raw():
                heard.chunks.append(chunk)
                self.write(chunk)
                await self.flush()
        except httpx.HTTPError as error:
            failure = self.error_body(502, _cause(engine, error), "Bad Gateway")
            self.write(b"\n\ndata: " + orjson.dumps(failure) + b"\n\n")
        except StreamClosedError:
            self._gone = True

    async def _record(self, exchange: Exchange, heard: Heard) -> None:
        """Record what was said; the client has its answer, whatever becomes of this."""
        try:
            await self.keeper.run("write", lambda: record(exchange, heard.said()))
        except CipherError as error:
            self.log.error("%s", error)
        except Exception:
            self.log.exception("the turn of task %s was not recorded", exchange.task)


def _prepared(ws: Workspace, sent: bytes, asked: Query, task: str | None) -> Exchange:
    query.no_parameters(asked)
    return prepare(ws, sent, query.task_id(task))


def _reached(ws: Workspace, asked: Query) -> Engine:
    query.no_parameters(asked)
    return reach(ws)


def _cause(engine: Engine, error: httpx.HTTPError) -> str:
    if isinstance(error, httpx.TimeoutException):
        return f"{engine.url} did not answer in time; raise [engine] request_timeout_s"
    return f"{engine.url} does not answer ({error}); see: cipher-nb engine status"


PROXY_HANDLERS = (("/api/cipher/v1/chat/completions", ChatHandler), ("/api/cipher/v1/models", ModelsHandler))
