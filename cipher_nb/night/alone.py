"""One at a time: a workspace has one night, or one run of trials, and no other beside it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from filelock import FileLock, Timeout

from cipher_nb.errors import NightBusyError
from cipher_nb.night.parts import Parts


@contextmanager
def alone(parts: Parts) -> Iterator[None]:
    """Keep nights and trials away for the length of a `with` block; NightBusyError where one runs."""
    parts.paths.aide.mkdir(parents=True, exist_ok=True)
    lock = FileLock(parts.paths.night_lock, timeout=0)
    try:
        lock.acquire()
    except Timeout as error:
        raise NightBusyError(
            f"another night, or trials, run on {parts.paths.root}; see: cipher-nb night status"
        ) from error
    try:
        yield
    finally:
        lock.release()


def is_running(parts: Parts) -> bool:
    """Tell whether a night, or trials, run on the workspace."""
    try:
        with alone(parts):
            return False
    except NightBusyError:
        return True
