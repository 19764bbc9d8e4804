"""What the engine said, read from its answer: one JSON document, or a stream of events that may be cut short."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from cipher_nb.server.messages import as_text


@dataclass(frozen=True)
class Said:
    """The first choice of a chat completion: its text (its tool calls as JSON where it has none), and why it ends.

    `finish` is the engine's finish_reason, or "" where the answer did not come to its end.
    """

    text: str
    finish: str


@dataclass
class Heard:
    """The bytes of an answer as far as they have come; `streamed` tells a stream from one document."""

    streamed: bool = False
    chunks: list[bytes] = field(default_factory=list)

    @property
    def bytes(self) -> bytes:
        return b"".join(self.chunks)

    def said(self) -> Said:
        """Return what the answer says so far; an event that is cut off says nothing."""
        return said_in_stream(self.bytes) if self.streamed else said_in_document(self.bytes)


def said_in_document(document: bytes) -> Said:
    return _said((choice, choice.get("message")) for choice in _first_choices(document))


def said_in_stream(events: bytes) -> Said:
    *lines, _ = events.split(b"\n")
    data = [line[len(b"data:") :] for line in lines if line.startswith(b"data:")]
    return _said((choice, choice.get("delta")) for document in data for choice in _first_choices(document))


def _said(parts: Iterable[tuple[Mapping[str, Any], Any]]) -> Said:
    texts: list[str] = []
    calls: dict[int, dict[str, Any]] = {}
    finish = ""
    for choice, part in parts:
        finish = str(choice.get("finish_reason") or finish)
        if isinstance(part, dict):
            texts.append(as_text({"content": part.get("content")}))
            for place, call in enumerate(part.get("tool_calls") or ()):
                _merge(calls.setdefault(call.get("index", place), {}), call)
    tool_calls = [call for _, call in sorted(calls.items())]
    return Said(as_text({"content": "".join(texts), "tool_calls": tool_calls}), finish)


def _first_choices(document: bytes) -> Iterator[Mapping[str, Any]]:
    """Yield the choice 0 of an answer; nothing where it has none, as usage, errors and `[DONE]`."""
    try:
        answer = orjson.loads(document)
    except orjson.JSONDecodeError:
        return
    choices = answer.get("choices") if isinstance(answer, dict) else None
    for choice in choices or ():
        if choice.get("index", 0) == 0:
            yield choice


def _merge(call: dict[str, Any], delta: Mapping[str, Any]) -> None:
    """Add the next piece of a tool call: its arguments come in pieces, all else whole."""
    for key, value in delta.items():
        if isinstance(value, dict):
            _merge(call.setdefault(key, {}), value)
        elif key == "arguments":
            call[key] = call.get(key, "") + value
        elif key != "index":
            call[key] = value
