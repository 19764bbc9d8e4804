"""The chat path: put the question after the scaffold and what was said before, ask, record the turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from cipher_nb.model import Message, Model
from cipher_nb.records import Clock, Turn, new_id, utc_now
from cipher_nb.scaffold import Scaffold
from cipher_nb.transcripts import Transcripts

MAX_HISTORY_BYTES = 4_000


@dataclass(frozen=True)
class Answer:
    """The model's answer, the task it belongs to, the system text it was given, and the recorded turn."""

    text: str
    task: str
    scaffold: Scaffold
    turn: Turn


def ask(
    text: str,
    *,
    model: Model,
    scaffold: Scaffold,
    transcripts: Transcripts,
    task: str | None = None,
    model_name: str = "",
    adapter: str = "base",
    clock: Clock = utc_now,
    max_tokens: int = 512,
) -> Answer:
    """Return the model's answer to `text`, recorded as a turn of `task` (a new one when None).

    The system slot is the scaffold's text alone. Earlier chat turns of the task are replayed, the newest whole ones
    that fit 4,000 bytes; its proposals are not. Raises EngineError, and records nothing, when no answer could be had;
    CipherError when the turn could not be recorded.
    """
    asked = clock()
    earlier = transcripts.read(task=task) if task else []
    question = {"role": "user", "content": _encodable(text)}
    messages = ({"role": "system", "content": scaffold.text}, *_history(earlier), question)
    reply = _encodable(model.chat(messages, max_tokens=max_tokens).text)
    name = new_id(asked)
    turn = Turn(name, asked, task or name, "chat", messages, reply, model_name, adapter)
    transcripts.append(turn)
    return Answer(reply, turn.task, scaffold, turn)


def _history(turns: Sequence[Turn]) -> list[Message]:
    exchanges = [
        (turn.messages[-1], {"role": "assistant", "content": turn.reply})
        for turn in turns
        if turn.kind == "chat" and turn.messages
    ]
    sizes = accumulate(_size(exchange) for exchange in reversed(exchanges))
    fitting = sum(size <= MAX_HISTORY_BYTES for size in sizes)
    return [message for exchange in exchanges[len(exchanges) - fitting :] for message in exchange]


def _size(exchange: Sequence[Message]) -> int:
    return sum(len(message["content"].encode()) for message in exchange)


def _encodable(text: str) -> str:
    # a lone surrogate (an undecodable argument, half an emoji) can be neither sent nor written
    return text.encode(errors="replace").decode()
