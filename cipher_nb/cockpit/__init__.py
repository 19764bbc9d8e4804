"""The operator's desk in a notebook: what is served and what waits, and a task from intent to commit."""

from cipher_nb.cockpit.cockpit import Cockpit
from cipher_nb.cockpit.task_panel import TaskPanel

__all__ = ["Cockpit", "TaskPanel"]
