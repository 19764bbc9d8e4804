"""The chat path: put the question after the scaffold and what was said before, ask, record the turn."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace

from cipher_nb.errors import CipherError
from cipher_nb.model import Message, Model, OnText
from cipher_nb.records import Clock, Turn, new_id, utc_now
from cipher_nb.scaffold import Scaffold
from cipher_nb.transcripts import Transcripts

MAX_HISTORY_BYTES = 4_000

_BIDI_MARKS = frozenset(("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"))


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
    on_text: OnText | None = None,
) -> Answer:
    """Return the model's answer to `text`, recorded as a turn of `task` (a new one when None).

    The system slot is the scaffold's text alone. Earlier chat turns of the task are replayed, the newest whole ones
    that fit 4,000 bytes; its proposals are not. `on_text` hears the answer as it comes; where it, or Ctrl-C, stops the
    answer, what was said so far is recorded as "aborted" and the exception goes on. Raises EngineError, and records
    nothing, when no answer could be had; CipherError when the turn could not be recorded.
    """
    asked = clock()
    name = new_id(asked)
    task = _encodable(task or name)
    history = _history(transcripts, task) if task != name else []
    messages = ({"role": "system", "content": scaffold.text}, *history, {"role": "user", "content": _encodable(text)})
    turn = Turn(name, asked, task, "chat", messages, "", model_name, adapter)
    turn = _answered(turn, model, transcripts, max_tokens, on_text)
    transcripts.append(turn)
    return Answer(turn.reply, task, scaffold, turn)


def _answered(turn: Turn, model: Model, transcripts: Transcripts, max_tokens: int, on_text: OnText | None) -> Turn:
    said: list[str] = []

    def hear(piece: str) -> None:
        said.append(_encodable(piece))
        if on_text:
            on_text(said[-1])

    try:
        reply = model.chat(turn.messages, max_tokens=max_tokens, on_text=hear if on_text else None)
    except CipherError:
        raise
    except BaseException:
        if said:
            transcripts.append(replace(turn, reply="".join(said), finish="aborted"))
        raise
    return replace(turn, reply=_encodable(reply.text), finish=reply.finish_reason)


def _history(transcripts: Transcripts, task: str) -> list[Message]:
    """Return the newest exchanges of `task` that fit, oldest first; no more of the file is read than holds them."""
    fitting: list[Sequence[Message]] = []
    exchanges = (
        (turn.messages[-1], {"role": "assistant", "content": turn.reply})
        for turn in transcripts.newest(task=task)
        if turn.kind == "chat" and turn.messages and turn.reply
    )
    size = 0
    for exchange in exchanges:
        size += sum(len(message["content"].encode()) for message in exchange)
        if size > MAX_HISTORY_BYTES:
            break
        fitting.append(exchange)
    return [message for exchange in reversed(fitting) for message in exchange]


def visible(text: str) -> str:
    """Return `text` without what a terminal would obey: control characters (but newline and tab) and bidi marks."""
    return "".join(char for char in text if char in "\n\t" or not _commands(char))


def _commands(char: str) -> bool:
    return unicodedata.category(char) == "Cc" or unicodedata.bidirectional(char) in _BIDI_MARKS


def _encodable(text: str) -> str:
    # a lone surrogate (an undecodable argument, half an emoji) can be neither sent nor written
    return text.encode(errors="replace").decode()
