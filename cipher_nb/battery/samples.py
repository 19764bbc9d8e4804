"""A sample: one question with a known right answer."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Literal

import orjson

from cipher_nb.model import Message

Side = Literal["sealed", "practice"]
Scorer = Literal["exact", "normalised", "json", "schema", "regex", "numeric", "choice", "code"]


@dataclass(frozen=True)
class Sample:
    """One question, what the scorer holds an answer against (`target`), and a right answer to train on (`reference`).

    `choices` is only for the scorer "choice": the model's next-token probabilities pick one of them, and nothing is
    generated. A `must_pass` sample that production answers may not be lost. `other_targets` are as right as `target`.
    """

    id: str
    category: str
    family: str
    side: Side
    messages: tuple[Message, ...]
    target: str
    scorer: Scorer
    choices: tuple[str, ...] = ()
    max_tokens: int = 16
    reference: str = ""
    must_pass: bool = False
    other_targets: tuple[str, ...] = ()

    @property
    def user_text(self) -> str:
        """The question itself: the last thing the user says, without the system text and examples before it."""
        return self.messages[-1]["content"]


def sample_id(category: str, messages: tuple[Message, ...], *, target: str, choices: tuple[str, ...] = ()) -> str:
    """Return `<category>-<12 hex digits>`, the same for the same content on any machine."""
    content = orjson.dumps([[dict(message) for message in messages], target, choices], option=orjson.OPT_SORT_KEYS)
    return f"{category.replace(' ', '-')}-{hashlib.sha256(content).hexdigest()[:12]}"
