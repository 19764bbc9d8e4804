"""Public doubles for tests and demos: a scripted model, a clock that is set by hand, a sample workspace."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cipher_nb.errors import EngineError
from cipher_nb.model import Message, OnText, Reply
from cipher_nb.workspace import Workspace

Script = Sequence[str] | Callable[[Sequence[Message]], str]


class ScriptedModel:
    """A `Model` that answers from a script: texts in order, or a function of the messages; `on_text` hears the words.

    `asked` holds the messages of every call, `questions` their last words, `schemas` the schema of every chat. Raises
    EngineError when the texts run out.
    """

    def __init__(self, script: Script, *, logprobs: Mapping[str, float] | None = None) -> None:
        self.asked: list[tuple[Message, ...]] = []
        self.schemas: list[Mapping[str, Any] | None] = []
        self._script = script
        self._logprobs = dict(logprobs or {})
        self._lock = threading.Lock()

    @property
    def questions(self) -> list[str]:
        return [messages[-1]["content"] for messages in self.asked]

    def chat(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int = 256,
        temperature: float = 0.0,
        seed: int = 0,
        schema: Mapping[str, Any] | None = None,
        on_text: OnText | None = None,
    ) -> Reply:
        with self._lock:
            number = len(self.asked)
            self.asked.append(tuple(messages))
            self.schemas.append(schema)
        text = self._answer(number, messages)
        if on_text:
            for word in re.findall(r"\s*\S+|\s+$", text):
                on_text(word)
        return Reply(text)

    def _answer(self, number: int, messages: Sequence[Message]) -> str:
        if callable(self._script):
            return self._script(messages)
        if number >= len(self._script):
            raise EngineError(f"the script has {len(self._script)} answers and was asked once more")
        return self._script[number]

    def next_token_logprobs(self, messages: Sequence[Message], *, top: int = 64) -> Mapping[str, float]:
        with self._lock:
            self.asked.append(tuple(messages))
        return dict(list(self._logprobs.items())[:top])


class MovableClock:
    """A clock that stands where it was set and starts at the present."""

    def __init__(self, moment: datetime | None = None) -> None:
        self._moment = moment or datetime.now(UTC)

    def __call__(self) -> datetime:
        return self._moment

    def set(self, moment: datetime) -> None:
        """Let the clock stand at `moment`."""
        self._moment = moment


def sample_workspace(folder: Path, *, clock: Callable[[], datetime] | None = None) -> Workspace:
    """Return a workspace in `folder` whose bus knows a pattern well enough, one almost, and one turned down."""
    ws = Workspace.init(folder, clock=clock) if clock else Workspace.init(folder)
    for pattern, approvals, rejections in (
        ("Uses pathlib instead of os.path", 4, 0),
        ("Writes a test with every change", 2, 0),
        ("Adds a dependency", 1, 3),
    ):
        for kind, count in (("approval", approvals), ("rejection", rejections)):
            for number in range(count):
                ws.bus.append(kind, tool="edit", pattern=pattern, summary=f"change {number + 1}")
    return ws
