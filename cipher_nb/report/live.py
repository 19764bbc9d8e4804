"""A line that changes while something runs."""

from __future__ import annotations

import time
from typing import Any

from cipher_nb.report.words import Sentence

EVERY_S = 1.0


class LiveLine:
    """Shows the newest text it was called with, in one place of a notebook, at most once a second."""

    def __init__(self) -> None:
        self._shown: Any = None
        self._next = 0.0

    def __call__(self, text: str) -> None:
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + EVERY_S
        self.end(text)

    def end(self, text: str) -> None:
        """Show `text` at once, as the last word."""
        from IPython.display import display

        if self._shown is None:
            self._shown = display(Sentence(text), display_id=True)
        else:
            self._shown.update(Sentence(text))
