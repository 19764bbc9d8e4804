"""When a written line reaches the disk itself."""

from __future__ import annotations

import atexit
import os
import threading
from contextlib import suppress
from pathlib import Path

INTERVAL_S = 1.0


class IntervalSync:
    """Brings a file to the disk within a second after it was touched, and when the process ends.

    One timer thread, and only while there is something to bring.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None

    def touched(self) -> None:
        """Say that the file has a new line."""
        with self._lock:
            if self._timer is None:
                self._timer = threading.Timer(INTERVAL_S, self._sync)
                self._timer.daemon = True
                self._timer.start()
                atexit.register(self._sync)

    def _sync(self) -> None:
        with self._lock:
            self._timer = None
            atexit.unregister(self._sync)
        with suppress(OSError):
            handle = os.open(self._path, os.O_RDONLY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)
