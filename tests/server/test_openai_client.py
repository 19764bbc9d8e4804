"""The official OpenAI client with another base URL, a real Jupyter server, the embedded model, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest

from cipher_nb.engine import daemon
from cipher_nb.records import Turn
from cipher_nb.workspace import Workspace
from tests.server.doubles import TOKEN, Jupyter, jupyter, until

pytestmark = [pytest.mark.slow, pytest.mark.model]

DOCTRINE = "You are a careful coding assistant. Answer briefly. Change only what the task needs."
LEARNED = "[learned] Uses pathlib instead of os.path"
MINE: Any = {"role": "system", "content": "You are a poet."}
ASK: Any = {"role": "user", "content": "Name a colour."}
SETTINGS: Any = {"model": "any", "max_tokens": 5, "temperature": 0, "seed": 1}
WEATHER: Any = {
    "type": "function",
    "function": {"name": "weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}},
}


@pytest.fixture(scope="module")
def ws(tmp_path_factory: pytest.TempPathFactory, embedded_gguf: Path) -> Iterator[Workspace]:
    ws = Workspace.init(tmp_path_factory.mktemp("ws"))
    ws.paths.config.write_text(f'[model]\nname = "{embedded_gguf}"\n')
    yield Workspace.open(ws.paths.root)
    running = daemon.find(ws.paths.engine)
    if running:
        daemon.retire(running, ws.paths.engine)


@pytest.fixture(scope="module")
def server(ws: Workspace, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Jupyter]:
    with jupyter(ws.paths.root, base_url="/user/ada/", log=tmp_path_factory.mktemp("log") / "jupyter.log") as server:
        yield server


@pytest.fixture
def client(server: Jupyter) -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{server.api}v1", api_key=TOKEN, max_retries=0)


def test_a_plain_chat_is_answered_and_recorded(client: openai.OpenAI, ws: Workspace) -> None:
    raw = client.chat.completions.with_raw_response.create(messages=[MINE, ASK], **SETTINGS)
    answer = raw.parse()
    turn = the_turn(ws, raw.headers)
    assert turn.messages == ({"role": "system", "content": f"You are a poet.\n{DOCTRINE}"}, ASK)
    assert turn.reply == answer.choices[0].message.content != ""
    assert (turn.finish, turn.adapter) == (answer.choices[0].finish_reason, "base")


def test_a_stream_says_the_same_and_is_recorded(client: openai.OpenAI, ws: Workspace) -> None:
    whole = client.chat.completions.create(messages=[MINE, ASK], **SETTINGS).choices[0].message.content
    asked = client.chat.completions.with_raw_response.create(
        messages=[MINE, ASK], stream=True, stream_options={"include_usage": True}, **SETTINGS
    )
    chunks = list(asked.parse())
    said = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert said == whole
    assert chunks[-1].usage is not None
    assert chunks[-1].usage.completion_tokens == 5
    turn = the_turn(ws, asked.headers)
    assert (turn.reply, turn.finish) == (said, "length")


def test_tools_and_a_json_schema_reach_the_engine(client: openai.OpenAI) -> None:
    schema = {"type": "object", "properties": {"colour": {"enum": ["red", "blue"]}}, "required": ["colour"]}
    answer = client.chat.completions.create(
        messages=[ASK],
        response_format={"type": "json_schema", "json_schema": {"name": "colour", "schema": schema}},
        **{**SETTINGS, "max_tokens": 60},
    )
    assert json.loads(answer.choices[0].message.content or "")["colour"] in ("red", "blue")
    assert client.chat.completions.create(messages=[ASK], tools=[WEATHER], **SETTINGS).choices[0].message.content


def test_a_stream_that_is_closed_stops_the_engine(client: openai.OpenAI, ws: Workspace) -> None:
    asked = client.chat.completions.with_raw_response.create(
        messages=[ASK], stream=True, **{**SETTINGS, "max_tokens": 3000, "extra_body": {"ignore_eos": True}}
    )
    stream = asked.parse()
    next(chunk for chunk in stream if chunk.choices[0].delta.content)
    assert _working(ws) == 1
    stream.close()
    until(lambda: _working(ws) == 0)
    assert the_turn(ws, asked.headers).finish == "aborted"


def test_three_approvals_are_in_the_next_requests_system_text(
    client: openai.OpenAI, server: Jupyter, ws: Workspace
) -> None:
    for votes in (1, 2, 3):
        raw = client.chat.completions.with_raw_response.create(messages=[ASK], **SETTINGS)
        assert LEARNED not in the_turn(ws, raw.headers).messages[0]["content"]
        task = raw.headers["X-Cipher-Task"]
        event = {"type": "approval", "tool": "chat", "pattern": LEARNED[10:], "summary": str(votes), "task": task}
        with server.client() as door:
            assert door.post("events", json=event).status_code == 201
        assert [event.fields["summary"] for event in ws.bus.read_state(task=task)] == [str(votes)]
    raw = client.chat.completions.with_raw_response.create(messages=[MINE, ASK], **SETTINGS)
    turn = the_turn(ws, raw.headers)
    assert turn.messages[0]["content"] == f"You are a poet.\n{DOCTRINE}\n{LEARNED}"


def test_what_is_wrong_is_the_clients_own_kind_of_error(client: openai.OpenAI, server: Jupyter) -> None:
    with pytest.raises(openai.BadRequestError, match="type must be number") as refused:
        client.chat.completions.create(messages=[ASK], model="any", temperature="hot")  # type: ignore[call-overload]
    assert refused.value.type == "invalid_request_error"
    with pytest.raises(openai.BadRequestError, match=r"messages = \[\] is no conversation"):
        client.chat.completions.create(messages=[], model="any")
    nobody = openai.OpenAI(base_url=f"{server.api}v1", api_key="wrong", max_retries=0)
    with pytest.raises(openai.PermissionDeniedError):
        nobody.models.list()


def test_the_models_are_listed(client: openai.OpenAI, embedded_gguf: Path) -> None:
    assert [model.id for model in client.models.list()] == [embedded_gguf.stem]


def the_turn(ws: Workspace, headers: httpx.Headers) -> Turn:
    """Return the turn that a chat was recorded as; a stream's stands there a moment after its end."""
    until(lambda: ws.transcripts.read(task=headers["X-Cipher-Task"]))
    return ws.transcripts.read(task=headers["X-Cipher-Task"])[0]


def _working(ws: Workspace) -> int:
    """Return how many of the engine's slots are at work."""
    with ws.engine() as engine:
        headers = {"Authorization": f"Bearer {engine.api_key}"}
        slots = httpx.get(f"{engine.url}/slots", headers=headers, trust_env=False).json()
    return sum(slot["is_processing"] for slot in slots)
