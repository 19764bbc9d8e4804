"""Replay from a file of the operator's own."""

from __future__ import annotations

from pathlib import Path

import orjson

from cipher_nb.errors import TrainingError
from cipher_nb.training.data.dataset import REPLAY
from cipher_nb.training.data.pairs import Pair
from cipher_nb.training.data.shapes import KNOWN, UnknownShapeError, conversation


def read_replay_file(path: Path) -> list[Pair]:
    """Return a replay pair for each line of `path`, JSONL in any of the common shapes; see `shapes.KNOWN`.

    Empty lines do not matter. Raises TrainingError for a file that cannot be read or holds nothing, and for the first
    line that is in no known shape, by its number.
    """
    setting = f"[training] replay_file = {str(path)!r}"
    try:
        lines = path.read_bytes().removeprefix(b"\xef\xbb\xbf").splitlines()
    except OSError as error:
        raise TrainingError(
            f"{setting} cannot be read ({error.strerror}); name a JSONL file, or leave it out"
        ) from error
    pairs = [_pair(line, f"{path}, line {number}") for number, line in enumerate(lines, start=1) if line.strip()]
    if not pairs:
        raise TrainingError(f"{setting} holds nothing; fill it, or leave it out to replay the base's own answers")
    return pairs


def _pair(line: bytes, where: str) -> Pair:
    try:
        messages, answer = conversation(orjson.loads(line))
    except orjson.JSONDecodeError as error:
        raise TrainingError(f"{where}: it is no JSON ({error}: {line[:40]!r}); one object a line is needed") from error
    except UnknownShapeError as error:
        raise TrainingError(f"{where}: {error}; known shapes: {', '.join(KNOWN)}") from error
    return Pair(messages, answer, source=REPLAY)
