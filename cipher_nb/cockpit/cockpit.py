"""The cockpit: buttons on the one decision function, and the commands to copy where buttons are dead."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from html import escape
from typing import Any, Literal

from cipher_nb.adapters.changelog import Changelog
from cipher_nb.cockpit.desk import review_html, situation, state_html, twin_html
from cipher_nb.cockpit.purge import PurgePanel
from cipher_nb.errors import CipherError
from cipher_nb.workspace import Workspace

DOUBLE_CLICK = timedelta(seconds=1)
UNPROVEN = "APPLY ANYWAY (unproven)"


class Cockpit:
    """A view of production, what is staged and the pending changelog, with APPLY, REVIEW and SKIP.

    What a button decides is the changelog that was on display when it was clicked, never a newer one. Clicks are safe
    to repeat and may come from another thread; while one is being carried out others are ignored.
    """

    def __init__(self, ws: Workspace) -> None:
        import ipywidgets as widgets

        self._ws = ws
        self._busy = threading.Lock()
        self._shown: Changelog | None = None
        self._asked: tuple[str, datetime] | None = None
        self.state, self.status, self.review = widgets.HTML(), widgets.HTML(), widgets.HTML()
        self.apply_button = _button("APPLY", "serve the new adapter, and prove that it answers", self._on_apply)
        self.review_button = _button("REVIEW", "look at the night's page below", self._on_review)
        self.skip_button = _button("SKIP", "keep what is served; the adapter is archived", self._on_skip)
        buttons = widgets.HBox([self.apply_button, self.review_button, self.skip_button])
        self.purge = PurgePanel(ws)
        self.view = widgets.VBox([self.state, buttons, self.status, self.review, self.purge.view])
        self.refresh()

    def refresh(self) -> None:
        """Show how things stand on disk now."""
        try:
            now = situation(self._ws)
        except CipherError as error:
            self._say(str(error))
            return
        self._shown = now.changelog
        self.state.value = state_html(now)
        self.apply_button.description = UNPROVEN if now.pending and self._is_asked(now.pending) else "APPLY"
        self.apply_button.disabled = self.skip_button.disabled = now.pending is None
        self.review_button.disabled = now.changelog is None

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        self.refresh()
        try:
            twin = twin_html(situation(self._ws))
        except CipherError as error:
            twin = f"<p>{escape(str(error))}</p>"
        return {**self.view._repr_mimebundle_(), "text/html": twin, "text/plain": f"Cockpit of {self._ws.paths.root}"}

    def _on_apply(self, _: Any) -> None:
        changelog = self._shown
        if changelog and not self._is_double_click(changelog):
            self._decide("apply", changelog, confirmed=self._is_asked(changelog))

    def _on_skip(self, _: Any) -> None:
        if self._shown:
            self._decide("skip", self._shown)

    def _on_review(self, _: Any) -> None:
        if self._shown:
            self.review.value = "" if self.review.value else review_html(self._ws, self._shown)

    def _is_asked(self, changelog: Changelog) -> bool:
        return self._asked is not None and self._asked[0] == changelog.ref

    def _is_double_click(self, changelog: Changelog) -> bool:
        if self._asked is None or not self._is_asked(changelog):
            return False
        return self._ws.clock() - self._asked[1] < DOUBLE_CLICK

    def _decide(self, action: Literal["apply", "skip"], changelog: Changelog, *, confirmed: bool = False) -> None:
        with self._one_at_a_time(f"{action} {changelog.ref} …") as free:
            if not free:
                return
            try:
                decision = self._ws.decide(action, changelog.ref, confirmed=confirmed, by="cockpit")
            except CipherError as error:
                self._say(str(error))
                return
            self._asked = (changelog.ref, self._ws.clock()) if decision.status == "confirm" else None
            self._say(decision.message)

    @contextmanager
    def _one_at_a_time(self, doing: str) -> Iterator[bool]:
        if not self._busy.acquire(blocking=False):
            yield False
            return
        try:
            self._say(doing)
            self.apply_button.disabled = self.skip_button.disabled = True
            yield True
        finally:
            self.refresh()
            self._busy.release()

    def _say(self, sentence: str) -> None:
        self.status.value = f'<p role="status">{escape(sentence)}</p>'


def _button(name: str, tooltip: str, on_click: Callable[[Any], None]) -> Any:
    import ipywidgets as widgets

    button = widgets.Button(description=name, tooltip=tooltip, layout=widgets.Layout(width="auto", min_width="7em"))
    button.on_click(on_click)
    return button
