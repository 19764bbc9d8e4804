"""The cockpit's way to have a task forgotten: name it, press PURGE, press it again."""

from __future__ import annotations

import threading
from html import escape
from typing import Any

from cipher_nb.errors import CipherError
from cipher_nb.workspace import Workspace


class PurgePanel:
    """A field for a task's id and a button; the first click says what would go, the second one does it."""

    def __init__(self, ws: Workspace) -> None:
        import ipywidgets as widgets

        self._ws = ws
        self._busy = threading.Lock()
        self._asked = ""
        width = widgets.Layout(width="auto", min_width="7em")
        self.task = widgets.Text(description="Task", placeholder="id of a task to forget")
        self.button = widgets.Button(description="PURGE", tooltip="remove all that was recorded of it", layout=width)
        self.button.on_click(self._on_click)
        self.status = widgets.HTML()
        self.view = widgets.VBox([widgets.HBox([self.task, self.button]), self.status])

    def _on_click(self, _: Any) -> None:
        if not self._busy.acquire(blocking=False):
            return
        try:
            self._ask_or_purge(self.task.value.strip())
        except (CipherError, OSError) as error:
            self._say(str(error))
        finally:
            self._busy.release()

    def _ask_or_purge(self, task: str) -> None:
        if not task:
            self._say("Name the task; cipher-nb state shows the ids.")
        elif task != self._asked:
            self._asked = task
            events, turns = len(self._ws.bus.read_state(task=task)), len(self._ws.transcripts.read(task=task))
            self._say(f"{events} events and {turns} turns of task {task}, and what was made from them. PURGE again?")
        else:
            self._asked = ""
            self._say(*self._ws.purge(tasks=[task]).in_words())

    def _say(self, *sentences: str) -> None:
        self.status.value = "".join(f'<p role="status">{escape(sentence)}</p>' for sentence in sentences)
