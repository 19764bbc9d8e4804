"""Looking for processes that a check may have left."""

from __future__ import annotations

import time
from collections.abc import Callable

import psutil


def running(mark: str) -> list[int]:
    """Return the processes whose command line holds `mark` and that have not ended."""
    found = []
    for process in psutil.process_iter():
        try:
            if mark in " ".join(process.cmdline()) and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process.pid)
        except psutil.Error:
            continue
    return found


def wait_until(happened: Callable[[], bool], deadline_s: float = 30.0) -> None:
    """Wait for something that other processes do; by far not as long as those that are to be killed would live."""
    end = time.monotonic() + deadline_s
    while not happened():
        assert time.monotonic() < end
        time.sleep(0.05)
