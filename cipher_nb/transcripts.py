"""Chat turns and proposals, append-only; tied to the events of the bus by their task id."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson

from cipher_nb import files
from cipher_nb.errors import CipherError
from cipher_nb.records import UNDATED, Turn, parse_ts


class Transcripts:
    """The turns of one workspace, as they stand in one file."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def append(self, turn: Turn) -> None:
        """Write the turn; a CipherError names the file when that was not possible."""
        try:
            files.append_line(self._path, orjson.dumps(turn.to_json()))
        except OSError as error:
            raise CipherError(
                f"{self._path}: the turn was not recorded ({error}); free some space or check who may write there"
            ) from error

    def read(self, *, task: str | None = None, since: datetime | None = None) -> list[Turn]:
        """Return matching turns, oldest first; torn and foreign lines are left out.

        A turn without a readable `ts` counts as written in 1970. Reads the whole file.
        """
        turns = (_turn(row) for row in files.read_lines(self._path))
        return [
            turn
            for turn in turns
            if turn is not None
            and (task is None or turn.task == task)
            and (since is None or turn.ts >= since.astimezone(UTC))
        ]


def _turn(row: Mapping[str, Any]) -> Turn | None:
    reply, attempt = row.get("reply"), row.get("attempt", 1)
    messages = _messages(row.get("messages"))
    if messages is None or not isinstance(reply, str) or not isinstance(attempt, int):
        return None
    return Turn(
        id=str(row.get("id", "")),
        ts=parse_ts(row.get("ts")) or UNDATED,
        task=str(row.get("task", "")),
        kind=str(row.get("kind", "chat")),
        messages=messages,
        reply=reply,
        model=str(row.get("model", "")),
        adapter=str(row.get("adapter", "base")),
        attempt=attempt,
        session=str(row.get("session", "")),
    )


def _messages(value: object) -> tuple[Mapping[str, str], ...] | None:
    if isinstance(value, list) and all(_is_message(item) for item in value):
        return tuple(value)
    return None


def _is_message(value: object) -> bool:
    if not isinstance(value, dict) or not {"role", "content"} <= value.keys():
        return False
    return all(isinstance(part, str) for part in value.values())
