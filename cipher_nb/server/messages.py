"""OpenAI's chat messages: put the scaffold into the system slot, and keep what was said as plain texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Any

import orjson

from cipher_nb.errors import RequestError
from cipher_nb.model import Message

ChatMessage = Mapping[str, Any]
"""A message as clients send it: its content may be a text, a list of parts or null, beside it may be tool calls."""

SYSTEM_ROLES = ("system", "developer")
PARTS_JOIN = "\n"
"""Stands between the parts of a content: llama.cpp joins them so."""


def checked(messages: Any) -> list[ChatMessage]:
    """Return the messages; RequestError where they are no list of objects with a role."""
    if not isinstance(messages, list) or not messages:
        raise RequestError(f"messages = {messages!r:.80} is no conversation; give a list of role and content")
    for number, message in enumerate(messages):
        if not isinstance(message, dict) or not isinstance(message.get("role"), str):
            raise RequestError(f"messages[{number}] = {message!r:.80} is no message; give role and content")
    return messages


def with_scaffold(messages: Sequence[ChatMessage], scaffold: str) -> list[ChatMessage]:
    """Return the messages with the scaffold behind the client's own leading system text, everything else as it was."""
    if not scaffold:
        return list(messages)
    leading = sum(1 for _ in takewhile(lambda message: message["role"] in SYSTEM_ROLES, messages))
    if leading == 0:
        return [{"role": "system", "content": scaffold}, *messages]
    last = messages[leading - 1]
    extended = {**last, "content": _extended(last.get("content"), scaffold)}
    return [*messages[: leading - 1], extended, *messages[leading:]]


def as_recorded(messages: Sequence[ChatMessage]) -> tuple[Message, ...]:
    """Return role and text of each message."""
    return tuple({"role": message["role"], "content": as_text(message)} for message in messages)


def as_text(message: ChatMessage) -> str:
    """Return a message's text, its parts joined; where it has none, its tool calls as JSON."""
    content = message.get("content")
    if isinstance(content, list):
        texts = [part.get("text") for part in content if isinstance(part, dict)]
        content = PARTS_JOIN.join(text for text in texts if isinstance(text, str))
    if isinstance(content, str) and content:
        return content
    calls = message.get("tool_calls")
    return orjson.dumps(calls).decode() if calls else ""


def _extended(content: Any, scaffold: str) -> Any:
    if not content:
        return scaffold
    if isinstance(content, list):
        return [*content, {"type": "text", "text": scaffold}]
    return f"{content}{PARTS_JOIN}{scaffold}" if isinstance(content, str) else content  # the engine refuses the rest
