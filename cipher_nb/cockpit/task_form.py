"""What a task is tried with: the intent, the files to show and the checks to pass, and the button that tries it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from cipher_nb.cockpit.task_widgets import button, field, lines

ENTER_GRACE_S = 0.3
"""Enter comes before the text that it ends."""


class Form:
    """Three fields and TRY. `on_try` hears a click, and Enter in the intent's field."""

    def __init__(self, on_try: Callable[[], None], *, intent: str, files: Sequence[str], checks: Sequence[str]) -> None:
        import ipywidgets as widgets

        self._on_try = on_try
        self.intent = field("Intent", "what to change; Enter tries it", intent)
        self.files = lines("Files", "shown to the model; one path a line", files)
        self.checks = lines("Checks", "commands that must pass; one a line", checks)
        self.try_button = button("TRY", "ask the model, and check its change in a copy", on_try)
        self.intent.on_msg(self._on_key)
        self.view = widgets.VBox(
            [
                widgets.HBox([self.intent, self.try_button]),
                widgets.HBox([self.files, self.checks], layout=widgets.Layout(flex_flow="row wrap")),
            ]
        )

    def _on_key(self, _: Any, content: dict[str, Any], __: Any) -> None:
        if content.get("event") == "submit":
            later = threading.Timer(ENTER_GRACE_S, self._on_try)
            later.daemon = True
            later.start()
