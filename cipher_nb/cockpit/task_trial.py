"""A task while it is tried: what it is doing, and how its checks ended, as the bus tells it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from cipher_nb.cockpit.task_desk import live_html
from cipher_nb.records import new_id
from cipher_nb.workspace import Workspace

TICK_S = 0.25


class Trial:
    """Follows one task from before it begins: `id` is what it is to be called, `hear` takes its progress."""

    def __init__(self, ws: Workspace) -> None:
        self.id = new_id(ws.clock())
        self.last = "reaching the engine"
        self._bus = ws.bus
        self._cursor = ws.bus.tail().cursor
        self._started = time.monotonic()
        self._said: list[tuple[float, str]] = []
        self._checks: list[dict[str, Any]] = []

    def hear(self, sentence: str) -> None:
        self.last = sentence
        self._said.append((self._elapsed(), sentence))

    def html(self) -> str:
        """Return what is known now; costs what was added to the bus since the last call."""
        added = self._bus.read_from(self._cursor)
        self._cursor = added.cursor
        for event in added.events:
            if event.type == "gate" and event.task == self.id:
                self._checks.append({"command": event.fields["gate"], "attempt": 1, **event.fields})
        return live_html(tuple(self._said), self._checks, self._elapsed())

    def _elapsed(self) -> float:
        return time.monotonic() - self._started


@contextmanager
def ticking(show: Callable[[], None]) -> Iterator[None]:
    """Call `show` four times a second, in a thread of its own, while the `with` block lasts."""
    done = threading.Event()

    def tick() -> None:
        show()
        while not done.wait(TICK_S):
            show()

    thread = threading.Thread(target=tick, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
