"""Must-pass samples: approved work that the operator pinned, kept as one file among their own samples."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from cipher_nb.battery.json_scorers import first_json
from cipher_nb.battery.own_row import MAX_TOKENS, MOST_TOKENS, faults_of
from cipher_nb.battery.samples import Scorer
from cipher_nb.errors import ConfigError
from cipher_nb.files import write_atomic
from cipher_nb.jsonl import held, parse_object
from cipher_nb.model import Message

FILE = "must-pass.jsonl"
BYTES_PER_TOKEN = 2
"""Fewer than any tokenizer needs for text, so that an answer as long as the approved one is not cut off."""


def pin_row(
    task: str,
    *,
    messages: Sequence[Message],
    answer: str,
    scorer: Scorer | None = None,
    target: str | None = None,
) -> dict[str, Any]:
    """Return the must-pass sample that asks `messages` again, in the shape of `battery.own`.

    A proposal is held against its edits alone ("schema"), whatever it says of its intent and checks; any other answer
    of one line as a whole ("normalised"). A longer one needs to be told: a scorer, or a scorer and a target. Raises
    ConfigError where it was not, and where the two do not go together.
    """
    if scorer is None and target is None:
        scorer, target = _default(task, answer)
    room = len((answer if target is None else max(answer, target, key=len)).encode()) // BYTES_PER_TOKEN
    row = {
        "id": task,
        "input": [{"role": message["role"], "content": message["content"]} for message in messages],
        "target": answer if target is None else target,
        "metadata": {
            "scorer": scorer or "normalised",
            "max_tokens": min(MOST_TOKENS, max(MAX_TOKENS, room)),
            "must_pass": True,
            "task": task,
        },
    }
    faults = faults_of(row)
    if faults:
        raise ConfigError(f"task {task} cannot be pinned: {'; '.join(faults)}; give another --scorer or --target")
    return row


def pin(folder: Path, row: Mapping[str, Any]) -> bool:
    """Put the row into the must-pass file of `folder` and tell whether that changed it; one task has one row."""
    return _replace(folder / FILE, str(row["id"]), orjson.dumps(row))


def unpin(folder: Path, task: str) -> bool:
    """Take the task's row out of the must-pass file and tell whether there was one."""
    path = folder / FILE
    return path.exists() and _replace(path, task, None)


def _replace(path: Path, task: str, line: bytes | None) -> bool:
    with held(path):
        before = path.read_bytes()
        lines = [old for old in before.splitlines() if not _is_of(old, task)]
        after = b"".join(kept + b"\n" for kept in [*lines, *([line] if line else [])])
        if sorted(before.splitlines()) == sorted(after.splitlines()):
            return False
        write_atomic(path, after)
    return True


def _is_of(line: bytes, task: str) -> bool:
    row = parse_object(line)
    return row is not None and row.get("id") == task


def _default(task: str, answer: str) -> tuple[Scorer, str]:
    found = first_json(answer)
    if isinstance(found, dict) and isinstance(found.get("edits"), list):
        same = {"type": "object", "required": ["edits"], "properties": {"edits": {"const": found["edits"]}}}
        return "schema", json.dumps(same, ensure_ascii=False)
    lines = [line for line in answer.splitlines() if line.strip()]
    if len(lines) != 1:
        raise ConfigError(
            f"task {task} was answered in {len(lines)} lines, not in one and not with a proposal; say what counts as "
            "right: --scorer exact (word for word), or another --scorer with its --target"
        )
    return "normalised", lines[0].strip()
