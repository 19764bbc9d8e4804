"""What the operator says to a change: APPROVE or REJECT, then SHIP or UNDO. Each is one call of `ws.tasks`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from cipher_nb.cockpit.task_widgets import button, field
from cipher_nb.tasks import Task
from cipher_nb.workspace import Workspace


class CarryOut(Protocol):
    """Carries out a decision on the task on display: says what it is doing, acts, and says what became of it."""

    def __call__(self, doing: str, act: Callable[[str], Task], told: Callable[[Task], str]) -> None: ...


class Decision:
    """The buttons for the task on display; `show` says which of them there are."""

    def __init__(self, ws: Workspace, carry_out: CarryOut, say: Callable[[str], None]) -> None:
        import ipywidgets as widgets

        self._tasks, self._carry_out, self._say = ws.tasks, carry_out, say
        self._shown = ""
        self.pattern = field("Pattern", "what this is an example of; it counts towards a [learned] line")
        self.reason = field("Reason", "why not; a rejection needs one")
        self.approve = button("APPROVE", "bring the change to the real files, all or nothing", self._on_approve)
        self.reject = button("REJECT", "turn the change down; the files stay as they are", self._on_reject)
        self.ship = button("SHIP", "commit the change, and nothing else", self._on_ship)
        self.undo = button("UNDO", "put the files back as they were before the approval", self._on_undo)
        self.open: Any = widgets.VBox(
            [widgets.HBox([self.pattern, self.approve]), widgets.HBox([self.reason, self.reject])]
        )
        self.approved: Any = widgets.HBox([self.ship, self.undo])
        self.view = widgets.VBox([self.open, self.approved])

    def show(self, task: Task | None, *, busy: bool) -> None:
        """Offer what this task waits for; nothing can be pressed while `busy`. Another task's words are not kept."""
        task_id, status = (task.id, task.status) if task else ("", "")
        if task_id != self._shown:
            self._shown, self.pattern.value, self.reason.value = task_id, "", ""
        self.open.layout.display = None if status == "verified" else "none"
        self.approved.layout.display = None if status == "approved" else "none"
        self.approve.disabled = self.reject.disabled = busy or status != "verified"
        self.ship.disabled = self.undo.disabled = busy or status != "approved"

    def _on_approve(self) -> None:
        pattern = self.pattern.value.strip()
        self._carry_out(
            "Approving …",
            lambda task: self._tasks.approve(task, pattern=pattern),
            lambda task: f"Task {task.id} is {task.status}: the change is in the real files. SHIP commits it.",
        )

    def _on_reject(self) -> None:
        reason, pattern = self.reason.value.strip(), self.pattern.value.strip()
        if not reason:
            self._say("A rejection needs a reason: write why not, then REJECT.")
            return
        self._carry_out(
            "Rejecting …",
            lambda task: self._tasks.reject(task, reason=reason, pattern=pattern),
            lambda task: f"Task {task.id} is {task.status}; the files are as they were.",
        )

    def _on_ship(self) -> None:
        self._carry_out(
            "Committing; the repository's hooks run …",
            self._tasks.ship,
            lambda task: f"Task {task.id} is {task.status} as {task.commit_sha[:12]}.",
        )

    def _on_undo(self) -> None:
        self._carry_out(
            "Undoing …",
            self._tasks.undo,
            lambda task: f"Task {task.id} is {task.status}: the files are as they were before the approval.",
        )
