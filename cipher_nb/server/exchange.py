"""One chat through the proxy, as far as files are concerned: made ready for the engine, and recorded afterwards."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

import orjson

from cipher_nb.engine.client import Client
from cipher_nb.errors import CipherError
from cipher_nb.model import Message
from cipher_nb.records import Turn, new_id
from cipher_nb.server.messages import as_recorded, checked, with_scaffold
from cipher_nb.server.query import json_object
from cipher_nb.server.said import Said
from cipher_nb.workspace import Workspace


@dataclass(frozen=True)
class Engine:
    """Where the engine is, and how it is asked."""

    url: str
    headers: Mapping[str, str]
    timeout_s: float


@dataclass(frozen=True)
class Exchange:
    """A chat on its way: the body the engine is sent, and what is kept of it."""

    ws: Workspace
    engine: Engine
    body: bytes
    id: str
    asked: datetime
    task: str
    messages: tuple[Message, ...]
    adapter: str


def reach(ws: Workspace) -> Engine:
    """Return where the engine is; starts it when it does not run."""
    with ws.engine() as client:
        return _engine(ws, client)


def prepare(ws: Workspace, sent: bytes, task: str | None) -> Exchange:
    """Return the client's chat with the scaffold in its system slot; starts the engine when it does not run.

    Raises RequestError where the body is no chat.
    """
    body = json_object(sent)
    messages = checked(body.get("messages"))
    with ws.engine() as client:
        engine, adapter, pinned = _engine(ws, client), client.adapter, client.pinned
    messages = with_scaffold(messages, ws.scaffold().text)
    asked = ws.clock()
    name = new_id(asked)
    return Exchange(
        ws=ws,
        engine=engine,
        body=orjson.dumps({**body, "messages": messages, **pinned}),
        id=name,
        asked=asked,
        task=task or name,
        messages=as_recorded(messages),
        adapter=adapter,
    )


def record(exchange: Exchange, said: Said) -> None:
    """Write the turn to the transcripts; nothing where nothing was said.

    Raises CipherError when it could not be written; an `error` event says so as well.
    """
    if not said.text and not said.finish:
        return
    turn = Turn(
        id=exchange.id,
        ts=exchange.asked,
        task=exchange.task,
        kind="chat",
        messages=exchange.messages,
        reply=said.text,
        model=exchange.ws.config.model.name,
        adapter=exchange.adapter,
        finish=said.finish or "aborted",
    )
    try:
        exchange.ws.transcripts.append(turn)
    except CipherError as error:
        exchange.ws.bus.append("error", source="transcripts", message=str(error), task=exchange.task)
        raise


def _engine(ws: Workspace, client: Client) -> Engine:
    # identity: the bytes of a stream are passed on as they come
    headers = {"Content-Type": "application/json", "Accept-Encoding": "identity"}
    if client.api_key:
        headers["Authorization"] = f"Bearer {client.api_key}"
    return Engine(client.url, headers, ws.config.engine.request_timeout_s)
