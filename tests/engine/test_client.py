"""The client against the real server, and against no server."""

from __future__ import annotations

import json
import math
import threading
import time
from collections.abc import Iterator

import pytest

from cipher_nb.engine.client import Client
from cipher_nb.errors import EngineError
from cipher_nb.model import Reply
from tests.scripted_server import ScriptedServer, event, scripted_server

FRANCE = [
    {"role": "system", "content": "You are a helpful assistant."},
    {"role": "user", "content": "What is the capital of France?"},
]


@pytest.mark.model
def test_a_chat_is_repeatable(embedded_client: Client) -> None:
    first = embedded_client.chat(FRANCE, max_tokens=24)
    assert "Paris" in first.text
    assert first.completion_tokens > 0
    assert embedded_client.chat(FRANCE, max_tokens=24).text == first.text


@pytest.mark.model
def test_an_answer_that_is_cut_off_says_so(embedded_client: Client) -> None:
    assert embedded_client.chat(FRANCE, max_tokens=2).finish_reason == "length"


@pytest.mark.model
def test_a_schema_makes_the_answer_json(embedded_client: Client) -> None:
    schema = {
        "type": "object",
        "properties": {"city": {"type": "string", "maxLength": 20}},
        "required": ["city"],
        "additionalProperties": False,
    }
    reply = embedded_client.chat(FRANCE, max_tokens=64, schema=schema)
    assert list(json.loads(reply.text)) == ["city"]


@pytest.mark.model
def test_probabilities_are_those_of_the_first_token_of_the_answer(embedded_client: Client) -> None:
    likely = embedded_client.next_token_logprobs(FRANCE, top=5)
    assert len(likely) == 5
    assert next(iter(likely)).strip() in embedded_client.chat(FRANCE, max_tokens=8).text
    assert sum(map(math.exp, likely.values())) <= 1.0


@pytest.mark.model
def test_special_tokens_are_one_token(embedded_client: Client) -> None:
    assert len(embedded_client.tokenize("<|im_end|>")) == 1
    assert len(embedded_client.tokenize("12")) == 2


@pytest.mark.model
def test_a_prompt_that_does_not_fit_is_an_error_with_the_servers_reason(embedded_client: Client) -> None:
    with pytest.raises(EngineError, match=r"answered 400: .*exceeds the available context"):
        embedded_client.chat([{"role": "user", "content": "word " * 9000}])


def test_no_server_names_the_address_and_the_command() -> None:
    with pytest.raises(EngineError, match=r"http://127\.0\.0\.1:9 does not answer .*engine status"):
        Client("http://127.0.0.1:9").chat(FRANCE)
    assert not Client("http://127.0.0.1:9").healthy()


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with scripted_server() as running:
        yield running


def streamed(server: ScriptedServer) -> tuple[Reply, list[str]]:
    pieces: list[str] = []
    with Client(server.url) as client:
        return client.chat(FRANCE, on_text=pieces.append), pieces


def test_a_streamed_answer_is_the_same_reply_in_pieces(server: ScriptedServer) -> None:
    reply, pieces = streamed(server)
    assert pieces == ["Use ", "`Path.open`", "."]
    assert reply == Reply("Use `Path.open`.", "stop", prompt_tokens=7, completion_tokens=3)
    assert reply == Client(server.url).chat(FRANCE)
    plain, stream = server.asked[1], server.asked[0]
    assert {key: value for key, value in stream.items() if plain.get(key) != value} == {
        "stream": True,
        "stream_options": {"include_usage": True},
    }


def test_pieces_are_heard_before_the_answer_is_whole(server: ScriptedServer) -> None:
    heard = threading.Event()
    server.before_piece = lambda number: number == 0 or heard.wait(10)
    with Client(server.url) as client:
        client.chat(FRANCE, on_text=lambda piece: heard.set())
    assert heard.is_set()


def test_a_stream_may_be_cut_anywhere_and_hold_comments_and_other_line_ends(server: ScriptedServer) -> None:
    body = event({"role": "assistant"}) + event({"content": "ünï\u2028c\u0085ode\n"}) + event({}, finish="length")
    body = b": ping\n\n" + body.replace(b"\n", b"\r\n").replace(b"data: ", b"id: 7\r\ndata:") + b"data: [DONE]\n\n"
    for size in (1, 7, len(body)):
        server.raw = [body[start : start + size] for start in range(0, len(body), size)]
        reply, pieces = streamed(server)
        assert (reply.text, reply.finish_reason, pieces) == (
            "ünï\u2028c\u0085ode\n",
            "length",
            ["ünï\u2028c\u0085ode\n"],
        )


@pytest.mark.parametrize(
    ("rest", "words"),
    [
        (
            [b'data: {"error":{"code":500,"message":"the slot was lost"}}\n\n'],
            "broke off its answer: the slot was lost",
        ),
        ([b'error: {"code":500,"message":"the slot was lost"}\n\n'], "broke off its answer: the slot was lost"),
        ([b'event: error\ndata: "no room"\n\n'], "broke off its answer: no room"),
        ([b"data: [7]\n\n"], "sent what is no piece of an answer: b'[7]'"),
        ([b"data: [DONE]\n\n"], "broke off its answer; see: cipher-nb engine logs"),
        ([], "broke off its answer; see: cipher-nb engine logs"),
        ([event({}, finish="stop")[:-1]], "broke off its answer; see: cipher-nb engine logs"),
        ([b"data: {\n\n"], "sent a piece of an answer that is not JSON: b'{'"),
        ([b'data: {"choices":[7]}\n\n'], "sent what is no piece of an answer: {'choices': [7]}"),
    ],
)
def test_an_answer_that_breaks_off_is_an_error_and_no_answer(
    server: ScriptedServer, rest: list[bytes], words: str
) -> None:
    server.raw = [event({"content": "Use "}), *rest]
    with pytest.raises(EngineError) as caught:
        streamed(server)
    assert str(caught.value) == f"{server.url} {words}"


def test_a_connection_that_is_cut_is_an_error(server: ScriptedServer) -> None:
    server.raw, server.whole = [event({"content": "Use "})], False
    with pytest.raises(EngineError, match=r"does not answer \(.*incomplete"):
        streamed(server)


def test_a_refused_stream_is_an_error_with_the_servers_reason(server: ScriptedServer) -> None:
    server.status = 400
    with pytest.raises(EngineError, match="answered 400: the context is full"):
        streamed(server)


def test_whoever_stops_listening_hangs_up(server: ScriptedServer) -> None:
    server.pieces = ["word "] * 200_000

    def stop(piece: str) -> None:
        raise KeyboardInterrupt

    with Client(server.url) as client:
        with pytest.raises(KeyboardInterrupt):
            client.chat(FRANCE, on_text=stop)
        assert server.hung_up.wait(60)


@pytest.mark.model
def test_the_real_server_stops_generating_when_nobody_listens(embedded_client: Client) -> None:
    def stop(piece: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        embedded_client.chat([{"role": "user", "content": "Count to a million."}], max_tokens=3000, on_text=stop)
    deadline = time.monotonic() + 30
    while any(slot["is_processing"] for slot in embedded_client._call("GET", "/slots")):
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.model
def test_the_real_server_streams_what_it_would_have_answered(embedded_client: Client) -> None:
    pieces: list[str] = []
    reply = embedded_client.chat(FRANCE, max_tokens=24, on_text=pieces.append)
    assert len(pieces) > 3
    assert "".join(pieces) == reply.text
    assert (reply.finish_reason, reply.completion_tokens) in (("length", 24), ("stop", reply.completion_tokens))
    assert reply.prompt_tokens > 10
    assert "Paris" in reply.text


def test_an_adapter_of_a_build_that_tells_no_ids_is_called_by_what_its_file_is_kept_under(
    server: ScriptedServer,
) -> None:
    server.adapters = [
        {"id": 0, "path": "/w/.aide/adapters/a1b2c3d4e5f6/adapter.gguf", "scale": 0.0},
        {"id": 1, "path": "/home/me/mine.gguf", "scale": 1.0},
        {"id": 2, "path": "/home/me/other.gguf", "scale": 0.0, "task_name": "named"},
    ]
    with Client(server.url) as client:
        assert [each.name for each in client.adapters()] == ["a1b2c3d4e5f6", "mine", "named"]


def test_a_pinned_question_names_every_scale_and_without_trust_in_caches_uses_none(server: ScriptedServer) -> None:
    with Client(server.url) as client:
        client.pin("a", {0: 1.0, 1: 0.0})
        client.chat(FRANCE)
    with Client(server.url, trust_caches=False) as client:
        client.pin("base", {0: 0.0})
        client.chat(FRANCE)
        client.pin("base", {})
        client.chat(FRANCE)
    assert [(body.get("lora"), body["cache_prompt"]) for body in server.asked] == [
        ([{"id": 0, "scale": 1.0}, {"id": 1, "scale": 0.0}], True),
        ([{"id": 0, "scale": 0.0}], False),
        (None, True),
    ]
