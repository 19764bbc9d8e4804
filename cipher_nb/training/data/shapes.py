"""The shapes in which files of instruction data write a conversation: each row becomes a prompt and its answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cipher_nb.model import Message

KNOWN = (
    '{"messages": [{"role", "content"}, …]}',
    '{"conversations": [{"from", "value"}, …]}',
    '{"prompt", "completion"}',
    '{"prompt", "response"}',
    '{"instruction", "input", "output"}',
    '{"question", "answer"}',
)
ROLES: Mapping[str, str] = {
    "system": "system",
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "gpt": "assistant",
    "model": "assistant",
}
_FLAT = (
    (("prompt",), "completion"),
    (("prompt",), "response"),
    (("instruction", "input"), "output"),
    (("question",), "answer"),
)


class UnknownShapeError(ValueError):
    """The row is no conversation that could be learned from; the text says what was found instead."""


def conversation(row: object) -> tuple[tuple[Message, ...], str]:
    """Return the prompt, which ends with a user turn, and the answer of one row in any of the `KNOWN` shapes.

    Of several turns the last answer is the one to learn. A text under "system" goes first, unless the turns begin with
    one; other keys do not matter. Raises UnknownShapeError.
    """
    if not isinstance(row, dict):
        raise UnknownShapeError(f"it is a JSON {_kind(row)}")
    turns = _turns(row)
    answers = [place for place, turn in enumerate(turns) if turn["role"] == "assistant"]
    if not answers:
        raise UnknownShapeError("no turn is the assistant's")
    prompt, answer = turns[: answers[-1]], turns[answers[-1]]["content"]
    if not prompt or prompt[-1]["role"] != "user":
        raise UnknownShapeError("the turn before the assistant's last one is not the user's")
    return tuple(prompt), answer


def _turns(row: Mapping[str, Any]) -> list[Message]:
    system = row.get("system")
    first = [{"role": "system", "content": system}] if isinstance(system, str) and system else []
    for key, role, content in (("messages", "role", "content"), ("conversations", "from", "value")):
        if key in row:
            turns = _listed(row[key], key, role, content)
            return turns if turns and turns[0]["role"] == "system" else [*first, *turns]
    for asked, answered in _FLAT:
        if asked[0] in row and answered in row:
            given = [asked[0], *(key for key in asked[1:] if row.get(key))]
            question = "\n\n".join(_text(row, key) for key in given)
            return [*first, _turn("user", question), _turn("assistant", _text(row, answered))]
    keys = ", ".join(f"{key!r:.40}" for key in list(row)[:8])
    raise UnknownShapeError(f"it has the keys {keys}" if keys else "it has no keys")


def _listed(turns: object, key: str, role: str, content: str) -> list[Message]:
    if not isinstance(turns, Sequence) or isinstance(turns, str):
        raise UnknownShapeError(f"{key!r} is a JSON {_kind(turns)}, not a list of turns")
    for place, turn in enumerate(turns, start=1):
        if not isinstance(turn, dict):
            raise UnknownShapeError(f"turn {place} of {key!r} is a JSON {_kind(turn)}")
        if turn.get(role) not in ROLES:
            raise UnknownShapeError(f"turn {place} of {key!r} has {role} {turn.get(role)!r:.40}")
    return [_turn(ROLES[turn[role]], _text(turn, content)) for turn in turns]


def _turn(role: str, content: str) -> Message:
    return {"role": role, "content": content}


def _text(row: Mapping[str, Any], key: str) -> str:
    value = row.get(key)
    if not isinstance(value, str):
        raise UnknownShapeError(f"{key!r} is {'missing' if key not in row else f'a JSON {_kind(value)}, not a text'}")
    return value


def _kind(value: object) -> str:
    kinds = {dict: "object", list: "list", str: "text", bool: "truth value", int: "number", float: "number"}
    return kinds.get(type(value), "null")
