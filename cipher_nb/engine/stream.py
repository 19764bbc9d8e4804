"""An answer that comes in pieces: server-sent events as an OpenAI-compatible server sends them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from cipher_nb.errors import EngineError
from cipher_nb.model import OnText, Reply


def read_answer(blocks: Iterable[bytes], on_text: OnText, *, source: str) -> Reply:
    """Return the answer once it is whole; `on_text` hears every piece as it comes.

    `blocks` are the bytes of the response, cut anywhere. Raises EngineError, which names `source`, when an error comes
    in the middle, when something is no piece of an answer, and when the stream ends before the answer does.
    """
    said: list[str] = []
    finish, usage = "", dict[str, int]()
    for chunk in _chunks(blocks, source):
        piece, reason = _first_choice(chunk, source)
        finish, usage = reason or finish, chunk.get("usage") or usage
        if piece:
            said.append(piece)
            on_text(piece)
    if not finish:
        raise EngineError(f"{source} broke off its answer; see: cipher-nb engine logs")
    return Reply("".join(said), finish, usage.get("prompt_tokens", 0), usage.get("completion_tokens", 0))


def _chunks(blocks: Iterable[bytes], source: str) -> Iterator[dict[str, Any]]:
    for kind, data in _events(blocks):
        if data == b"[DONE]":
            return
        try:
            chunk = json.loads(data)
        except ValueError as broken:
            raise EngineError(f"{source} sent a piece of an answer that is not JSON: {data[:200]!r}") from broken
        error = chunk.get("error") if isinstance(chunk, dict) else None
        if error or kind == b"error":
            raise EngineError(f"{source} broke off its answer: {_cause(error or chunk)}")
        if not isinstance(chunk, dict):
            raise EngineError(f"{source} sent what is no piece of an answer: {data[:200]!r}")
        yield chunk


def _cause(error: object) -> str:
    return str(error.get("message", error) if isinstance(error, Mapping) else error)


def _first_choice(chunk: Mapping[str, Any], source: str) -> tuple[str, str]:
    """Return the piece of text in `chunk` and the finish reason, each "" where there is none."""
    choices = chunk.get("choices") or [{}]
    try:
        piece = (choices[0].get("delta") or {}).get("content") or ""
        return "" + piece, choices[0].get("finish_reason") or ""
    except (AttributeError, KeyError, TypeError) as error:
        raise EngineError(f"{source} sent what is no piece of an answer: {str(chunk)[:200]}") from error


def _events(blocks: Iterable[bytes]) -> Iterator[tuple[bytes, bytes]]:
    """Yield kind and data of each event; comments and what stands behind the last blank line are left out."""
    kind, data = b"", list[bytes]()
    for line in _lines(blocks):
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if not line:
            if data:
                yield kind, b"\n".join(data)
            kind, data = b"", []
        elif field == b"data":
            data.append(value)
        elif field == b"event":
            kind = value
        elif field == b"error":  # what llama.cpp sent up to 2025 in place of an event
            kind, data = b"error", [value]


def _lines(blocks: Iterable[bytes]) -> Iterator[bytes]:
    # Split as bytes: a block may end within a character, and text may hold U+2028, which str.splitlines splits at.
    rest = b""
    for block in blocks:
        *lines, rest = (rest + block).split(b"\n")
        yield from (line.removesuffix(b"\r") for line in lines)
