"""The model's chat template, asked of its server once for all questions that stand behind the same messages."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from cipher_nb.model import Message

PROBES = ("cipher7probe", "Another cipher8probe.")

Frame = tuple[str, str]


class Templates:
    """Lays messages out as the server does, by what it showed of the template.

    `render` asks the server. It is asked twice for each new preface (the messages before the last one), and again for
    a last message that the template might not take over as it stands: one with white space at an end, or with a tag.
    """

    def __init__(self, render: Callable[[Sequence[Message]], str]) -> None:
        self._render = render
        self._frames: dict[tuple[tuple[str, str], ...], Frame | None] = {}

    def prompt(self, messages: Sequence[Message]) -> str:
        """Return the whole prompt, ready for the answer to begin."""
        text = messages[-1]["content"]
        frame = self._frame(messages)
        if frame is None or text != text.strip() or "<" in text:
            return self._render(messages)
        return frame[0] + text + frame[1]

    def preface(self, messages: Sequence[Message]) -> str | None:
        """Return what the prompts of all questions behind the same messages begin with, or None where that varies."""
        frame = self._frame(messages)
        return frame[0] if frame else None

    def _frame(self, messages: Sequence[Message]) -> Frame | None:
        *before, last = messages
        key = (*((message["role"], message["content"]) for message in before), (last["role"], ""))
        if key not in self._frames:
            shown = [self._render([*before, {**last, "content": probe}]).split(probe) for probe in PROBES]
            whole = len(shown[0]) == 2 and shown[0] == shown[1]
            self._frames[key] = (shown[0][0], shown[0][1]) if whole else None
        return self._frames[key]
