"""The words a proposal is asked for with. Kept short: small models are trained on exactly this text."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from cipher_nb.model import Message
from cipher_nb.sandbox.changes import read_state
from cipher_nb.sandbox.outcome import Feedback

FILES_BUDGET_BYTES = 3_000
FORM = """\
Answer with one JSON object:
{"intent": "...", "edits": [...]}
Each edit is one of
{"op": "write", "path": "...", "text": "the whole file"}
{"op": "replace", "path": "...", "search": "text found once", "replace": "..."}
{"op": "delete", "path": "..."}
{"op": "rename", "path": "...", "to": "..."}"""


def first_messages(
    intent: str, *, root: Path, scaffold: str, files: Sequence[str], checks: Sequence[str]
) -> tuple[Message, ...]:
    """Return the question for a proposal; it needs nothing before it.

    The named files stand in it as they are in `root`, cut at whole lines to 3,000 bytes in all.
    Raises UnsafePathError or ProposalError for a file that may not or cannot be read.
    """
    parts = [f"Task: {intent}", *_file_parts(root, files)]
    if checks:
        parts.append("Checks: " + "; ".join(checks))
    system = [{"role": "system", "content": scaffold}] if scaffold else []
    return (*system, {"role": "user", "content": "\n".join([*parts, FORM])})


def retry_messages(first: Sequence[Message], reply: str, feedback: Feedback) -> tuple[Message, ...]:
    """Return the question for the next attempt: the talk so far and what failed, or the first question with lessons."""
    if not feedback.clean_start:
        return (*first, {"role": "assistant", "content": reply}, {"role": "user", "content": feedback.text})
    *before, question = first
    return (*before, {"role": "user", "content": f"{question['content']}\n{feedback.text}"})


def _file_parts(root: Path, files: Sequence[str]) -> list[str]:
    room, parts = FILES_BUDGET_BYTES, []
    for path in files:
        state = read_state(root, path)
        if state is None:
            parts.append(f"File {path}: does not exist yet")
            continue
        shown = _whole_lines(state.data, room)
        room -= len(shown)
        cut = "" if len(shown) == len(state.data) else f" (first {len(shown)} of {len(state.data)} bytes)"
        parts.append(f"File {path}{cut}:\n```\n{shown.decode(errors='replace').rstrip()}\n```")
    return parts


def _whole_lines(data: bytes, room: int) -> bytes:
    return data if len(data) <= room else data[: data.rfind(b"\n", 0, room) + 1]
