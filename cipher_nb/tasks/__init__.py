"""One proposed change from intent to ship: asked for, tried, approved or rejected, undone or committed, on record."""

from cipher_nb.tasks.task import Task
from cipher_nb.tasks.tasks import Tasks

__all__ = ["Task", "Tasks"]
