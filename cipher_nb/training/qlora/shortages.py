"""Memory and disk that run out, as errors that say what was needed and what to change."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cipher_nb.config import TrainingSettings
from cipher_nb.errors import TrainingError
from cipher_nb.files import write_atomic

OUT_OF_MEMORY = re.compile(r"out of memory|can't allocate memory|cannot allocate memory|std::bad_alloc", re.IGNORECASE)


@contextmanager
def memory_errors_named(settings: TrainingSettings) -> Iterator[None]:
    """Turn an allocation that failed inside into a TrainingError that names the settings to lower."""
    try:
        yield
    except (MemoryError, RuntimeError, OSError) as error:
        if not isinstance(error, MemoryError) and not OUT_OF_MEMORY.search(str(error)):
            raise
        raise TrainingError(
            f"training ran out of memory ({_what_was_tried(error)}); lower [training] micro_batch_tokens = "
            f"{settings.micro_batch_tokens} or max_tokens = {settings.max_tokens}"
            + ("" if settings.load_in_4bit == "yes" else ', or set load_in_4bit = "yes"')
        ) from error


def write_whole(path: Path, content: bytes) -> None:
    """Write the file atomically; TrainingError says how many bytes there was no room for."""
    try:
        write_atomic(path, content)
    except OSError as error:
        raise TrainingError(
            f"{path} could not be written ({error.strerror}; it takes {len(content):,} bytes); "
            "make room there and train again"
        ) from error


def _what_was_tried(error: BaseException) -> str:
    found = re.search(r"tried to allocate ([\d.]+ ?\w+)", str(error), re.IGNORECASE)
    return f"{found[1]} more were needed" if found else " ".join(str(error).split())[:120] or "no size was told"
