"""The endpoints on the bus: what happened, what was learned from it, the system text, the changelog, new events."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from http.client import responses
from importlib.resources import files
from typing import Any, TypeVar

import orjson
from jupyter_server.auth.decorator import authorized
from jupyter_server.base.handlers import APIHandler
from tornado import web

from cipher_nb.errors import (
    CipherError,
    ConfigError,
    EngineError,
    ModelError,
    NotFoundError,
    RequestError,
    SandboxError,
)
from cipher_nb.records import new_id
from cipher_nb.server import query
from cipher_nb.server.keeper import Keeper, Lane
from cipher_nb.server.query import Query
from cipher_nb.workspace import Workspace

Result = TypeVar("Result")

MAX_EVENT_BYTES = 1024 * 1024
STATUS = {RequestError: 400, NotFoundError: 404, SandboxError: 409, EngineError: 502, ModelError: 502}


class CipherHandler(APIHandler):
    """What the endpoints share: work in threads, and errors as JSON with the status they deserve."""

    auth_resource = "cipher"

    def initialize(self, keeper: Keeper) -> None:
        self.keeper = keeper

    @property
    def query(self) -> Query:
        arguments = self.request.query_arguments
        return {name: [value.decode(errors="replace") for value in values] for name, values in arguments.items()}

    def body(self, *, max_bytes: int) -> bytes:
        sent: bytes = self.request.body
        if len(sent) > max_bytes:
            raise web.HTTPError(413, f"the body has {len(sent)} bytes; send at most {max_bytes}")
        return sent

    async def work(self, lane: Lane, work: Callable[[Workspace], Result]) -> Result:
        """Return what `work` makes of the workspace, in a thread; the errors it names become HTTP errors."""
        try:
            return await self.keeper.run(lane, lambda: work(self.keeper.workspace()))
        except CipherError as error:
            status = next((code for kind, code in STATUS.items() if isinstance(error, kind)), 500)
            raise web.HTTPError(status, "%s", error) from error
        except OSError as error:
            raise web.HTTPError(500, "%s: %s", error.filename or "the system", error.strerror or error) from error

    def write_error(self, status_code: int, **kwargs: Any) -> None:
        """Answer with the error's own sentence; one that nobody foresaw keeps its details for the log."""
        error = (kwargs.get("exc_info") or (None, None))[1]
        reason = responses.get(status_code, "Unknown HTTP Error")
        told = error.log_message if isinstance(error, web.HTTPError) else None
        message = told % error.args if told and error else reason
        self.finish(orjson.dumps(self.error_body(status_code, message, reason)))

    def error_body(self, status: int, message: str, reason: str) -> dict[str, Any]:
        return {"message": message, "reason": reason}


class ReadHandler(CipherHandler):
    """Answers with what is read from the workspace."""

    def read(self, ws: Workspace, asked: Query) -> Any:
        raise NotImplementedError

    @web.authenticated
    @authorized
    async def get(self) -> None:
        asked = self.query
        self.finish(await self.work("read", lambda ws: orjson.dumps(self.read(ws, asked))))


class StateHandler(ReadHandler):
    def read(self, ws: Workspace, asked: Query) -> list[dict[str, Any]]:
        return [event.to_json() for event in ws.bus.read_state(**query.state_filters(asked, ws.clock()))]


class LearnedHandler(ReadHandler):
    def read(self, ws: Workspace, asked: Query) -> list[dict[str, Any]]:
        return [line.to_json() for line in ws.learned(**query.learned_limits(asked))]


class ScaffoldHandler(ReadHandler):
    def read(self, ws: Workspace, asked: Query) -> dict[str, Any]:
        tier = query.tier(asked)
        try:
            return asdict(ws.scaffold(tier=tier))
        except ConfigError as error:
            if tier is None:
                raise
            raise RequestError(str(error)) from error


class ChangelogHandler(ReadHandler):
    def read(self, ws: Workspace, asked: Query) -> dict[str, Any] | None:
        query.no_parameters(asked)
        found = ws.changelog()
        return found.to_json_at(ws.clock()) if found else None


class EventsHandler(CipherHandler):
    @web.authenticated
    @authorized
    async def post(self) -> None:
        sent, asked = self.body(max_bytes=MAX_EVENT_BYTES), self.query
        name = await self.work("write", lambda ws: _append(ws, sent, asked))
        if name is None:
            raise web.HTTPError(503, "the event was not written; free some space or check who may write to .aide/")
        self.set_status(201)
        self.finish(orjson.dumps({"written": True, "id": name}))


class DescriptionHandler(CipherHandler):
    """Answers with the OpenAPI description of all endpoints."""

    @web.authenticated
    @authorized
    async def get(self) -> None:
        self.finish(await self.keeper.run("read", (files("cipher_nb.server") / "openapi.json").read_bytes))


def _append(ws: Workspace, sent: bytes, asked: Query) -> str | None:
    """Return the id of the event that was written, or None where the bus could not be written to."""
    query.no_parameters(asked)
    fields = query.json_object(sent)
    kind, name = fields.pop("type", None), fields.get("id") or new_id(ws.clock())
    if not isinstance(kind, str):
        raise RequestError(f"type = {kind!r:.80} is not the type of an event; give a text such as approval")
    problem = _nested(fields) or ws.bus.problem(kind, fields)
    if problem:
        raise RequestError(problem)
    return name if ws.bus.append(kind, **{**fields, "id": name}) else None


def _nested(fields: Mapping[str, Any]) -> str | None:
    for name, value in fields.items():
        if isinstance(value, dict | list):
            return f"{name} = {value!r:.80} is not flat; give a text, a number, true, false or null"
    return None


HANDLERS = (
    ("/api/cipher/state", StateHandler),
    ("/api/cipher/learned", LearnedHandler),
    ("/api/cipher/scaffold", ScaffoldHandler),
    ("/api/cipher/changelog", ChangelogHandler),
    ("/api/cipher/events", EventsHandler),
    ("/api/cipher/openapi[.]json", DescriptionHandler),
)
