"""Chat turns and proposals, append-only; tied to the events of the bus by their task id."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

import orjson

from cipher_nb.errors import CipherError
from cipher_nb.jsonl import BLOCK_BYTES, append_line, lines_from_end, rewrite
from cipher_nb.records import UNDATED, Turn, made_at, parse_ts, utc_now

LATE_LINES = 32
"""So many older lines in a row, and 64 KiB of them, end a search: turns are written when answered, dated when asked."""

_WRITTEN_AT = re.compile(rb'"ts"\s*:\s*(?:"([^"\\]*)"|(\d{1,15}))')
_SHORT_ESCAPES = frozenset('"\\/\b\f\n\r\t')


class Transcripts:
    """The turns of one workspace, as they stand in one file."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def append(self, turn: Turn) -> None:
        """Write the turn; a CipherError names the file when that was not possible."""
        try:
            append_line(self._path, orjson.dumps(turn.to_json()))
        except OSError as error:
            raise CipherError(
                f"{self._path}: the turn was not recorded ({error}); free some space or check who may write there"
            ) from error

    def read(self, *, task: str | None = None, since: datetime | None = None) -> list[Turn]:
        """Return the turns that `newest` yields, oldest first."""
        return list(self.newest(task=task, since=since))[::-1]

    def newest(self, *, task: str | None = None, since: datetime | None = None) -> Iterator[Turn]:
        """Yield matching turns, the last one in the file first; torn and foreign lines are left out.

        Reads from the end, no further than is asked for, than `since`, and than the moment that a `records.new_id` of
        a task tells; for another task id the whole file. A turn without a readable `ts` counts as written in 1970.
        """
        may_match = _spells(task) if task is not None else None
        for line in self._back_to(_earliest(task, since)):
            turn = _turn(line) if may_match is None or may_match(line) else None
            if turn and task in (None, turn.task) and (since is None or turn.ts >= since.astimezone(UTC)):
                yield turn

    def purge(self, *, tasks: Collection[str] = (), before: datetime | None = None, everything: bool = False) -> int:
        """Remove turns for good and return how many lines went; with `everything` torn and foreign ones go as well."""
        moment = before.astimezone(UTC) if before else None

        def keep(line: bytes) -> bool:
            turn = _turn(line)
            if everything or turn is None:
                return not everything
            return turn.task not in tasks and (moment is None or turn.ts >= moment)

        return rewrite(self._path, keep)

    def _back_to(self, earliest: datetime) -> Iterator[bytes]:
        try:
            file = self._path.open("rb")
        except FileNotFoundError:
            return
        older_lines = older_bytes = 0
        with file:
            for line in filter(None, lines_from_end(file)):
                yield line
                if _written_at(line) >= earliest:
                    older_lines = older_bytes = 0
                    continue
                older_lines, older_bytes = older_lines + 1, older_bytes + len(line)
                if older_lines > LATE_LINES and older_bytes > BLOCK_BYTES:
                    return


def _earliest(task: str | None, since: datetime | None) -> datetime:
    """Return the moment before which no turn can match."""
    begun = (made_at(task) if task is not None else None) or UNDATED
    if begun > utc_now():  # an id that only looks as if it were ours
        begun = UNDATED
    return max(begun, since.astimezone(UTC)) if since else begun


def _spells(task: str) -> Callable[[bytes], bool]:
    """Return a test on bytes that only lines can pass which name `task`; most others fail it, without being parsed."""
    plain = orjson.dumps(task.encode(errors="replace").decode())
    escape = b"\\u" if _SHORT_ESCAPES.isdisjoint(task) else b"\\"  # other programs may escape what we do not
    return lambda line: plain in line or escape in line


def _written_at(line: bytes) -> datetime:
    found = _WRITTEN_AT.search(line)
    if found is None:
        return UNDATED
    return parse_ts(int(found[2]) if found[2] else found[1].decode(errors="replace")) or UNDATED


def _turn(line: bytes) -> Turn | None:
    try:
        row = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None
    if not isinstance(row, dict):
        return None
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
        finish=str(row.get("finish", "stop")),
    )


def _messages(value: object) -> tuple[Mapping[str, str], ...] | None:
    if isinstance(value, list) and all(_is_message(item) for item in value):
        return tuple(value)
    return None


def _is_message(value: object) -> bool:
    if not isinstance(value, dict) or not isinstance(value.get("role"), str):
        return False
    if not isinstance(value.get("content"), str):
        return False
    return len(value) == 2 or all(isinstance(part, str) for part in value.values())
