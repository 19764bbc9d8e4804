"""The SHIP panel: write an intent, watch it being tried, look at the change, approve or reject it, ship it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from cipher_nb.cockpit.task_decision import Decision
from cipher_nb.cockpit.task_desk import WAITING, change_html, task_html, twin_html
from cipher_nb.cockpit.task_form import Form
from cipher_nb.cockpit.task_text import STATUS, count, one_line, visible
from cipher_nb.cockpit.task_trial import Trial, ticking
from cipher_nb.cockpit.task_widgets import button, choice, given
from cipher_nb.errors import CipherError
from cipher_nb.tasks import Task
from cipher_nb.workspace import Workspace


class TaskPanel:
    """One task at a time, from intent to commit; every button is one call of `ws.propose` or `ws.tasks`.

    A button decides the task on display, as it stands on disk. Clicks are safe to repeat and may come from another
    thread; while one is being carried out others are ignored.
    """

    def __init__(
        self, ws: Workspace, *, intent: str = "", files: Sequence[str] = (), checks: Sequence[str] = ()
    ) -> None:
        import ipywidgets as widgets

        self._ws = ws
        self._busy = threading.Lock()
        self._shown: Task | None = None
        self.form = Form(self._on_try, intent=intent, files=files, checks=checks or ws.config.sandbox.checks)
        self.waiting = choice("Waiting")
        self.show_button = button("SHOW", "look at the task chosen beside it", self._on_show)
        self.live, self.state, self.diff, self.status = (widgets.HTML() for _ in range(4))
        self.decision = Decision(ws, self._decide, self._say)
        waiting = widgets.HBox([self.waiting, self.show_button])
        seen = (self.live, self.state, self.diff)
        self.view = widgets.VBox([self.form.view, waiting, *seen, self.decision.view, self.status])
        self.refresh()

    @property
    def busy(self) -> bool:
        """Tell whether something is being carried out."""
        return self._busy.locked()

    def refresh(self) -> None:
        """Show how things stand on disk now."""
        if trouble := self._refresh():
            self._say(trouble)

    def _refresh(self) -> str:
        """Do so, and return what was in the way, "" for nothing."""
        trouble = ""
        try:
            self._shown = self._ws.tasks.get(self._shown.id) if self._shown else None
            self._list(self._waiting())
        except CipherError as error:
            self._shown, trouble = None, str(error)
        self._show(busy=False)
        return trouble

    def show(self, task_id: str) -> None:
        """Put a task on display, by its id."""
        self._carry_out("Opening …", lambda: self._ws.tasks.get(task_id), _how_it_stands)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        if not self.busy:
            self.refresh()
        try:
            twin = twin_html(self._shown, self._waiting())
        except CipherError as error:
            twin = f"<p>{visible(str(error))}</p>"
        text = f"Task panel of {self._ws.paths.root}"
        return {**self.view._repr_mimebundle_(), "text/html": twin, "text/plain": text}

    def _on_try(self) -> None:
        if not self.form.intent.value.strip():
            self._say("Write what to change into the field Intent; then TRY.")
        elif self._busy.acquire(blocking=False):
            doing = ("Beginning …", self._try, _how_it_stands)
            threading.Thread(target=self._carry_out_and_release, args=doing, daemon=True).start()

    def _try(self) -> Task:
        self._shown = None
        self._show(busy=True)
        trial = Trial(self._ws)
        try:
            with ticking(lambda: self._show_trial(trial)):
                return self._ws.propose(
                    self.form.intent.value.strip(),
                    files=given(self.form.files),
                    checks=given(self.form.checks),
                    task=trial.id,
                    on_progress=trial.hear,
                )
        finally:
            self.live.value = ""

    def _show_trial(self, trial: Trial) -> None:
        self._say(f"{trial.last[:1].upper()}{trial.last[1:]} …")
        self.live.value = trial.html()

    def _on_show(self) -> None:
        if self.waiting.value:
            self.show(self.waiting.value)

    def _decide(self, doing: str, act: Callable[[str], Task], told: Callable[[Task], str]) -> None:
        if task := self._shown:
            self._carry_out(doing, lambda: act(task.id), told)

    def _carry_out(self, doing: str, act: Callable[[], Task], told: Callable[[Task], str]) -> None:
        if self._busy.acquire(blocking=False):
            self._carry_out_and_release(doing, act, told)

    def _carry_out_and_release(self, doing: str, act: Callable[[], Task], told: Callable[[Task], str]) -> None:
        outcome = "It broke off; the kernel's log says where."
        try:
            self._say(doing)
            self._show(busy=True)
            self._shown = act()
            outcome = told(self._shown)
        except (CipherError, OSError) as error:
            outcome = str(error)
        finally:
            trouble = self._refresh()
            self._say(trouble or outcome)  # when all else that is shown agrees with it
            self._busy.release()

    def _waiting(self) -> list[Task]:
        return [task for task in self._ws.tasks.list() if task.status in WAITING]

    def _list(self, tasks: Sequence[Task]) -> None:
        chosen = self.waiting.value
        options = [(f"{one_line(task.intent)} ({WAITING[task.status]})", task.id) for task in tasks]
        self.waiting.options = options or [("no task waits for you", "")]
        ids = [task_id for _, task_id in self.waiting.options]
        self.waiting.value = chosen if chosen in ids else ids[0]

    def _show(self, *, busy: bool) -> None:
        task = self._shown
        self.state.value = task_html(task) if task else ""
        self.diff.value = change_html(task) if task else ""
        self.form.try_button.disabled = busy
        self.show_button.disabled = busy or not self.waiting.value
        self.decision.show(task, busy=busy)

    def _say(self, sentence: str) -> None:
        self.status.value = f'<p role="status" style="{STATUS}">{visible(sentence)}</p>'


def _how_it_stands(task: Task) -> str:
    if task.status == "verified":
        return f"Task {task.id} is verified: every check passed in attempt {task.attempts}. Look, then decide."
    if task.status == "failed":
        return f"Task {task.id} failed after {count(task.attempts, 'attempt')}; nothing was changed. Say more, and TRY."
    return f"Task {task.id} is {task.status}."
