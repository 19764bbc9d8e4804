"""What the parts may ask of a language model, whoever serves it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

Message = Mapping[str, str]
"""A chat message as OpenAI shapes it: `{"role": "system" | "user" | "assistant", "content": text}`."""

OnText = Callable[[str], None]
"""Called with each piece of an answer as it comes; together the pieces are the answer."""


@dataclass(frozen=True)
class Reply:
    """A generated answer. `finish_reason` is "stop" or "length" (cut off by max_tokens)."""

    text: str
    finish_reason: str = "stop"
    prompt_tokens: int = 0
    completion_tokens: int = 0


class Model(Protocol):
    """A model that answers chats. Implemented by `engine.client.Client` and `testing.ScriptedModel`."""

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
        """Return the answer to `messages`; with `schema` the text is JSON of that JSON schema.

        `on_text` hears the answer while it is made; what it raises stops the model and comes out here. Safe to call
        from several threads. Raises EngineError when no answer could be had, or not all of it.
        """
        ...

    def next_token_logprobs(self, messages: Sequence[Message], *, top: int = 64) -> Mapping[str, float]:
        """Return the `top` likeliest first tokens of the answer (text to natural-log probability, before sampling).

        Raises EngineError when no answer could be had.
        """
        ...
