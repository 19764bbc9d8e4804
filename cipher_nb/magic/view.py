"""Where an answer is shown while it comes: one display of a notebook that is updated in place, or a terminal."""

from __future__ import annotations

import time
from collections.abc import Sequence
from html import escape
from typing import Any, Protocol

from cipher_nb.chat import visible
from cipher_nb.magic.inert import inert_html

UPDATE_INTERVAL_S = 0.1


class View(Protocol):
    """Takes an answer piece by piece; `text` is what came so far."""

    text: str

    def add(self, piece: str) -> None:
        """Show one more piece."""

    def end(self, footer: Sequence[str]) -> None:
        """Show all of the answer, with `footer` below it."""


def view_for(ipython: Any) -> View:
    """Return the view that suits the session: a kernel has a notebook before it."""
    return NotebookView() if hasattr(ipython, "kernel") else TerminalView()


class NotebookView:
    """A display that is updated in place, at most ten times a second."""

    def __init__(self) -> None:
        self.text = ""
        self._display: Any = None
        self._shown_at = 0.0

    def add(self, piece: str) -> None:
        self.text += piece
        if time.monotonic() - self._shown_at >= UPDATE_INTERVAL_S:
            self._show(())

    def end(self, footer: Sequence[str]) -> None:
        self._show(footer)

    def _show(self, footer: Sequence[str]) -> None:
        from IPython.display import display

        bundle = bundle_of(self.text, footer)
        if self._display is None:
            self._display = display(bundle, raw=True, display_id=True)
        else:
            self._display.update(bundle, raw=True)
        self._shown_at = time.monotonic()


class TerminalView:
    """Prints the answer as it comes, without what a terminal would obey."""

    def __init__(self) -> None:
        self.text = ""

    def add(self, piece: str) -> None:
        self.text += piece
        print(visible(piece), end="", flush=True)

    def end(self, footer: Sequence[str]) -> None:
        print("\n" * (not self.text.endswith("\n")) + _plain(footer))


def bundle_of(text: str, footer: Sequence[str]) -> dict[str, str]:
    """Return the answer as rendered HTML, with a plain twin for those who show no HTML."""
    below = f"<p><small>{escape(' · '.join(footer))}</small></p>" if footer else ""
    return {
        "text/html": f"<div>{inert_html(text)}{below}</div>",
        "text/plain": "\n".join([visible(text).rstrip(), *([_plain(footer)] if footer else [])]),
    }


def _plain(footer: Sequence[str]) -> str:
    return f"({' · '.join(footer)})"
