"""An operator's own samples: JSONL files in `.aide/battery/`, in the shape that inspect_ai's `json_dataset` reads.

    {"id": "bump", "input": "The next patch version after 1.4.9?", "target": "1.4.10", "metadata": {"category": "git"}}

`input` is a text or a list of chat messages; `target` a text, or a list of texts any of which is right. `choices` make
it a choice by letter: they are shown under the question as A), B) …, and `target` is a letter or the text of a choice.
Of `metadata` these count, and all others are yours: `category` (else the file's name), `scorer` (else "choice" with
choices, "normalised" without), `max_tokens` (else 64) and `must_pass`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from cipher_nb.battery.own_row import faults_of, sample_of
from cipher_nb.battery.samples import Sample
from cipher_nb.errors import BatteryError

MOST_FAULTS = 10


def read_own(folder: Path) -> tuple[Sample, ...]:
    """Return the samples of all `*.jsonl` files in `folder`, in order of file name and line.

    Raises BatteryError for the first file with faults, a line for each of them (at most 10), as `file:line: fault`.
    """
    first_seen: dict[str, str] = {}
    samples: list[Sample] = []
    for path in sorted(folder.glob("*.jsonl")):
        faults: list[str] = []
        for number, row in _rows(path):
            where = f"{path}:{number}"
            found = faults_of(row) if isinstance(row, dict) else [str(row)]
            if not found:
                sample = sample_of(row, stem=path.stem)
                name = f"id {row['id']}" if "id" in row else f"sample {sample.id}"
                found = [f"{name} stands at {first_seen[name]} already; remove one"] if name in first_seen else []
                first_seen.setdefault(name, where)
                samples.append(sample)
            faults += [f"{where}: {fault}" for fault in found]
        if faults:
            more = [f"… and {len(faults) - MOST_FAULTS} more"] if len(faults) > MOST_FAULTS else []
            raise BatteryError("\n".join([*faults[:MOST_FAULTS], *more]))
    return tuple(samples)


def _rows(path: Path) -> Iterator[tuple[int, Any]]:
    """Yield line number and row; in place of a row that is no JSON object, what is wrong with it."""
    try:
        lines = path.read_bytes().removeprefix(b"\xef\xbb\xbf").split(b"\n")
    except OSError as error:
        raise BatteryError(f"{path} cannot be read ({error.strerror}); mend it or move it away") from error
    for number, line in enumerate(lines, 1):
        if line.strip():
            yield number, _row(line)


def _row(line: bytes) -> dict[str, Any] | str:
    try:
        row = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        return f"it is not valid JSON ({error}); write one object a line"
    return row if isinstance(row, dict) else f"{line.decode()[:60]} is no JSON object; write one object a line"
