"""What is read from an engine's answer, whole or cut anywhere."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cipher_nb.server.said import Heard, Said
from tests.server.doubles import completion, delta, sse

CALL = {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Paris"}'}}


def document(value: Any) -> Said:
    return Heard(chunks=[json.dumps(value).encode()]).said()


def stream(*documents: Any) -> Said:
    return Heard(streamed=True, chunks=[sse(*documents)]).said()


def test_a_whole_answer_is_its_first_choice() -> None:
    assert document(completion("Use pathlib.")) == Said("Use pathlib.", "stop")
    two = completion("first")
    two["choices"].insert(0, {"index": 1, "message": {"content": "second"}, "finish_reason": "length"})
    assert document(two) == Said("first", "stop")


def test_tool_calls_are_kept_as_json_where_there_is_no_text() -> None:
    called = document(completion(None, finish="tool_calls", tool_calls=[CALL]))
    assert (json.loads(called.text), called.finish) == ([CALL], "tool_calls")
    assert document(completion("I call.", finish="tool_calls", tool_calls=[CALL])).text == "I call."


def test_a_stream_is_its_pieces_put_together() -> None:
    usage = {"choices": [], "usage": {"total_tokens": 3}}
    other = {"choices": [{"index": 1, "delta": {"content": "other"}, "finish_reason": "length"}]}
    parts = (delta(role="assistant", content=None), delta("Use "), other, delta("path\nlib – ✓"), delta(finish="stop"))
    assert stream(*parts, usage, "[DONE]") == Said("Use path\nlib – ✓", "stop")


def test_tool_calls_of_a_stream_are_put_together_by_their_index() -> None:
    def piece(index: int, arguments: str, **more: Any) -> dict[str, Any]:
        return delta(
            tool_calls=[{"index": index, **more, "function": {**more.get("function", {}), "arguments": arguments}}]
        )

    said = stream(
        piece(0, "", id="c1", type="function", function={"name": "weather"}),
        piece(1, "{}", id="c2", type="function", function={"name": "time"}),
        piece(0, '{"city": '),
        piece(0, '"Paris"}'),
        delta(finish="tool_calls"),
    )
    second = {"id": "c2", "type": "function", "function": {"name": "time", "arguments": "{}"}}
    assert (json.loads(said.text), said.finish) == ([CALL, second], "tool_calls")


@pytest.mark.parametrize("newline", [b"\n", b"\r\n"])
def test_a_stream_cut_at_any_byte_says_what_came_whole(newline: bytes) -> None:
    data = sse(delta("ä"), delta("ö"), delta(finish="stop"), "[DONE]").replace(b"\n", newline)
    lengths = [len(Heard(streamed=True, chunks=[data[:cut]]).said().text) for cut in range(len(data) + 1)]
    assert sorted(lengths) == lengths
    assert set(lengths) == {0, 1, 2}
    assert Heard(streamed=True, chunks=[data[i : i + 1] for i in range(len(data))]).said() == Said("äö", "stop")


@pytest.mark.parametrize("data", [b"", b"not json", b"[1]", b'{"error": {"message": "x"}}', b'{"choices": null}'])
def test_what_is_no_answer_says_nothing(data: bytes) -> None:
    assert Heard(chunks=[data]).said() == Said("", "")
    assert Heard(streamed=True, chunks=[b"data: " + data + b"\n\n"]).said() == Said("", "")
