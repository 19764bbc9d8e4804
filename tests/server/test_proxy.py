"""The OpenAI-compatible proxy before a small engine: what is sent on, what comes back, what is recorded."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from cipher_nb.records import Turn
from cipher_nb.workspace import Workspace
from tests.server.conftest import use
from tests.server.doubles import Jupyter, SmallEngine, completion, delta, sse, until

DOCTRINE = "You are a careful coding assistant. Answer briefly. Change only what the task needs."
USER = {"role": "user", "content": "q"}
STREAM = sse(
    delta(role="assistant", content=None), delta("Use "), delta("pathlib – ✓."), delta(finish="stop"), "[DONE]"
)
CALL = {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": "{}"}}


@pytest.fixture
def client(spare: Jupyter, fresh: Workspace) -> Iterator[httpx.Client]:
    with spare.client() as client:
        yield client


def chat(client: httpx.Client, *messages: Any, task: str = "", **body: Any) -> httpx.Response:
    headers = {"X-Cipher-Task": task} if task else {}
    return client.post("v1/chat/completions", json={"messages": messages or [USER], **body}, headers=headers)


def the_turn(ws: Workspace) -> Turn:
    turns = ws.transcripts.read()
    assert len(turns) == 1
    return turns[0]


def test_the_engine_is_sent_the_scaffold_and_all_else_untouched(client: httpx.Client, engine: SmallEngine) -> None:
    rest = {
        "model": "gpt-4o",
        "temperature": 0.7,
        "n": 2,
        "seed": 2**63,
        "stop": ["\n"],
        "stream": False,
        "stream_options": None,
        "tools": [{"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}],
        "response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": {"const": 1.50}}},
        "x_unknown": {"ä": [None]},
    }
    system = {"role": "system", "content": "Mine."}
    assert chat(client, system, USER, **rest).status_code == 200
    assert engine.asked == [{"messages": [{"role": "system", "content": f"Mine.\n{DOCTRINE}"}, USER], **rest}]
    assert "Authorization" not in engine.headers[0]
    assert "sesame" not in str(engine.headers)
    assert engine.headers[0]["Accept-Encoding"] == "identity"  # a stream's bytes are passed on as they are


def test_the_engines_own_key_is_sent_and_not_jupyters(
    client: httpx.Client, engine: SmallEngine, fresh: Workspace
) -> None:
    fresh.paths.config.write_text(f'[engine]\nurl = "{engine.url}"\napi_key_env = "HOME"\n')
    assert chat(client).status_code == 200
    assert engine.headers[0]["Authorization"].startswith("Bearer /")


def test_a_whole_answer_comes_back_as_the_engine_gave_it_and_is_recorded(
    client: httpx.Client, engine: SmallEngine, fresh: Workspace
) -> None:
    answer = chat(client, {"role": "developer", "content": [{"type": "text", "text": "Mine."}]}, USER)
    assert answer.json() == completion("Use pathlib.")
    turn = the_turn(fresh)
    assert turn.messages == ({"role": "developer", "content": f"Mine.\n{DOCTRINE}"}, USER)
    assert (turn.reply, turn.finish, turn.kind, turn.adapter) == ("Use pathlib.", "stop", "chat", "base")
    assert (turn.task, turn.model) == (answer.headers["X-Cipher-Task"], "smollm2-135m")


@pytest.mark.parametrize("pieces", [(1_000_000,), (1,), (7,), (40, 3)])
def test_a_stream_comes_back_byte_for_byte_and_is_recorded(
    client: httpx.Client, engine: SmallEngine, fresh: Workspace, pieces: tuple[int, ...]
) -> None:
    engine.answer, engine.pieces = STREAM, pieces
    answer = chat(client, stream=True)
    assert (answer.content, answer.headers["Content-Type"]) == (STREAM, "text/event-stream")
    turn = the_turn(fresh)
    assert (turn.reply, turn.finish, turn.task) == ("Use pathlib – ✓.", "stop", answer.headers["X-Cipher-Task"])


def test_a_stream_is_passed_on_while_it_is_made(client: httpx.Client, engine: SmallEngine) -> None:
    engine.answer, engine.pieces, engine.go_on = STREAM, (len(STREAM) // 4,), threading.Event()
    with client.stream("POST", "v1/chat/completions", json={"messages": [USER], "stream": True}) as answer:
        came = answer.iter_raw()
        assert next(came) == STREAM[: len(STREAM) // 4]
        engine.go_on.set()
        assert b"".join(came) == STREAM[len(STREAM) // 4 :]


def test_tool_calls_are_recorded_as_json(client: httpx.Client, engine: SmallEngine, fresh: Workspace) -> None:
    engine.answer = completion(None, finish="tool_calls", tool_calls=[CALL])
    called = {"role": "assistant", "content": None, "tool_calls": [CALL]}
    done = {"role": "tool", "tool_call_id": "c1", "content": "sunny"}
    chat(client, USER, called, done)
    turn = the_turn(fresh)
    assert [message["role"] for message in turn.messages] == ["system", "user", "assistant", "tool"]
    assert json.loads(turn.messages[2]["content"]) == json.loads(turn.reply) == [CALL]
    assert (turn.messages[3], turn.finish) == ({"role": "tool", "content": "sunny"}, "tool_calls")


def test_a_task_is_gone_on_with_and_approved(client: httpx.Client, engine: SmallEngine, fresh: Workspace) -> None:
    task = chat(client).headers["X-Cipher-Task"]
    assert chat(client, task=task).headers["X-Cipher-Task"] == task
    approval = {"type": "approval", "tool": "chat", "pattern": "Uses pathlib", "summary": "", "task": task}
    assert client.post("events", json=approval).status_code == 201
    assert len(fresh.transcripts.read(task=task)) == 2
    assert [event.pattern for event in fresh.bus.read_state(task=task)] == ["Uses pathlib"]


def test_a_client_that_goes_away_stops_the_engine_and_what_was_said_is_kept(
    client: httpx.Client, engine: SmallEngine, fresh: Workspace
) -> None:
    engine.answer = sse(*(delta(f"{number} ") for number in range(1000)))
    engine.pieces, engine.pause_s = (len(sse(delta("0 "))),), 0.02
    with client.stream("POST", "v1/chat/completions", json={"messages": [USER], "stream": True}) as answer:
        heard = b""
        for chunk in answer.iter_raw():
            heard += chunk
            if b'"3 "' in heard:
                break
    until(lambda: engine.left == 1)
    until(fresh.transcripts.read)
    turn = the_turn(fresh)
    assert turn.reply.startswith("0 1 2 3 ")
    assert len(turn.reply.split()) < 100
    assert turn.finish == "aborted"


@pytest.mark.slow
def test_a_client_that_goes_away_before_a_whole_answer_leaves_nothing(
    spare: Jupyter, engine: SmallEngine, fresh: Workspace
) -> None:
    engine.pieces, engine.pause_s = (1,), 0.05
    before = len(spare.log.read_text())
    with spare.client() as client, pytest.raises(httpx.ReadTimeout):
        client.post("v1/chat/completions", json={"messages": [USER]}, timeout=3)
    until(lambda: engine.left == 1)
    assert fresh.transcripts.read() == []
    assert chat_is_fine(spare, engine)
    assert "Traceback" not in spare.log.read_text()[before:]


def chat_is_fine(spare: Jupyter, engine: SmallEngine) -> bool:
    engine.reset()
    with spare.client() as client:
        return chat(client).status_code == 200


@pytest.mark.parametrize("task", ["a" * 65, "a-b", "../x"])
def test_a_bad_task_is_refused_before_the_engine_is_asked(
    client: httpx.Client, engine: SmallEngine, fresh: Workspace, task: str
) -> None:
    refused = chat(client, task=task)
    error = refused.json()["error"]
    assert (refused.status_code, error["type"], error["code"]) == (400, "invalid_request_error", "bad_request")
    assert "is no task id; give 1 to 64 letters and digits" in error["message"]
    assert (engine.asked, fresh.transcripts.read()) == ([], [])


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        (b"", "the body is not valid JSON"),
        (b"[]", "the body is a JSON list"),
        (b"{}", "messages = None is no conversation"),
        (b'{"messages": ["q"]}', "messages[0] = 'q' is no message"),
    ],
)
def test_a_body_that_is_no_chat_is_refused(
    client: httpx.Client, engine: SmallEngine, body: bytes, sentence: str
) -> None:
    refused = client.post("v1/chat/completions", content=body)
    assert refused.status_code == 400
    assert sentence in refused.json()["error"]["message"]
    assert engine.asked == []


def test_a_chat_over_16_mebibytes_is_413(client: httpx.Client) -> None:
    refused = chat(client, {"role": "user", "content": "x" * (16 * 1024 * 1024)})
    assert (refused.status_code, refused.json()["error"]["code"]) == (413, "request_entity_too_large")


@pytest.mark.parametrize("stream", [True, False])
def test_what_the_engine_refuses_comes_with_its_status_and_words(
    client: httpx.Client, engine: SmallEngine, fresh: Workspace, stream: bool
) -> None:
    engine.status = 400
    engine.answer = {"error": {"code": 400, "message": "temperature must be number", "type": "invalid_request_error"}}
    refused = chat(client, stream=stream, temperature="x")
    assert (refused.status_code, refused.json()) == (400, engine.answer)
    assert "X-Cipher-Task" not in refused.headers
    assert fresh.transcripts.read() == []


def test_an_engine_that_refuses_our_key_is_not_the_clients_fault(client: httpx.Client, engine: SmallEngine) -> None:
    engine.status = 401
    refused = chat(client)
    assert (refused.status_code, refused.json()["error"]["type"]) == (502, "engine_error")
    assert "refuses our key; check [engine] api_key_env" in refused.json()["error"]["message"]


def test_an_engine_that_is_not_there_is_502(client: httpx.Client, fresh: Workspace) -> None:
    fresh.paths.config.write_text('[engine]\nurl = "http://127.0.0.1:9"\n')
    for refused in (chat(client), client.get("v1/models")):
        assert (refused.status_code, refused.json()["error"]["code"]) == (502, "bad_gateway")
        assert "http://127.0.0.1:9 does not answer" in refused.json()["error"]["message"]
    assert fresh.transcripts.read() == []


def test_an_engine_that_dies_on_a_whole_answer_is_502(
    client: httpx.Client, engine: SmallEngine, fresh: Workspace
) -> None:
    engine.cut = True
    assert chat(client).status_code == 502
    assert fresh.transcripts.read() == []


def test_an_engine_that_dies_in_a_stream_ends_it_with_an_error(
    client: httpx.Client, engine: SmallEngine, fresh: Workspace
) -> None:
    engine.answer, engine.cut = sse(delta("Use "))[:-1], True
    *_, last = chat(client, stream=True).text.split("data: ")
    error = json.loads(last)["error"]
    assert (error["type"], error["code"]) == ("engine_error", "bad_gateway")
    assert (the_turn(fresh).reply, the_turn(fresh).finish) == ("Use ", "aborted")


def test_a_turn_that_cannot_be_recorded_is_answered_all_the_same(
    client: httpx.Client, engine: SmallEngine, fresh: Workspace
) -> None:
    fresh.paths.transcripts.mkdir()
    answer = chat(client)
    assert (answer.status_code, answer.json()) == (200, completion("Use pathlib."))
    error = fresh.bus.read_state(type="error")[0]
    assert error.fields["source"] == "transcripts"
    assert "the turn was not recorded" in error.fields["message"]


def test_the_models_are_the_engines(client: httpx.Client) -> None:
    assert client.get("v1/models").json() == {"object": "list", "data": [{"id": "small"}]}


def test_a_new_engine_address_is_used_at_once(client: httpx.Client, fresh: Workspace, engine: SmallEngine) -> None:
    fresh.paths.config.write_text('[engine]\nurl = "http://127.0.0.1:9"\n')
    assert chat(client).status_code == 502
    time.sleep(0.02)  # file times move in steps
    use(fresh, engine)
    assert chat(client).status_code == 200
