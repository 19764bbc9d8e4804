"""The dataset of one night: new pairs and replay, screened, mixed and frozen in a file."""

from __future__ import annotations

import random
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from cipher_nb.errors import TrainingError
from cipher_nb.files import write_atomic
from cipher_nb.jsonl import read_lines
from cipher_nb.training.pairs import Pair, read_pairs
from cipher_nb.training.screen import Dropped, screen


@dataclass(frozen=True)
class Dataset:
    """What is trained on, in its order. `dropped` is (pair id, reason); `notes` are for the operator."""

    path: Path
    pairs: tuple[Pair, ...]
    dropped: tuple[Dropped, ...]
    new_count: int
    replay_count: int
    notes: tuple[str, ...] = ()


def replay_wanted(new: int, *, share: float) -> int:
    """Return how much replay makes `share` of the final dataset, rounded to the nearest: 70 new at 0.3 want 30."""
    return round(new * share / (1 - share))


def freeze(
    new: Sequence[Pair],
    replay: Sequence[Pair],
    *,
    share: float,
    seed: int,
    sealed_texts: Collection[str],
    path: Path,
) -> Dataset:
    """Screen, mix and shuffle the pairs, write them to `path` (JSONL, atomically) and return them.

    Duplicates, sealed text and secrets are dropped first, so that `share` holds for what remains. The same input gives
    the same bytes. Raises TrainingError when nothing new remains, or `share` leaves no room for it.
    """
    if not 0 <= share < 1:
        raise TrainingError(f"[training] replay_share = {share} must be at least 0 and below 1")
    kept, dropped = screen([*new, *replay], sealed_texts)
    kept_new = [pair for pair in kept if pair.source != "replay"]
    available = [pair for pair in kept if pair.source == "replay"]
    if not kept_new:
        raise TrainingError(f"none of the {len(new)} new pairs may be trained on; nothing to train")
    rng = random.Random(seed)  # noqa: S311
    wanted = replay_wanted(len(kept_new), share=share)
    mixed = kept_new + rng.sample(available, min(wanted, len(available)))
    rng.shuffle(mixed)
    notes = () if len(available) >= wanted else (f"replay: {len(available)} pairs instead of {wanted}",)
    replay_count = len(mixed) - len(kept_new)
    dataset = Dataset(path, tuple(mixed), tuple(dropped), len(kept_new), replay_count, notes)
    write_atomic(path, _as_lines(dataset))
    return dataset


def read_dataset(path: Path) -> tuple[Pair, ...]:
    """Return the pairs that `freeze` wrote to `path`, in order; TrainingError when it is no dataset or not whole."""
    rows = read_lines(path)
    header: dict[str, Any] = rows[0].get("dataset", {}) if rows else {}
    pairs = tuple(read_pairs(path))
    if len(pairs) != header.get("new", 0) + header.get("replay", 0) or not pairs:
        raise TrainingError(f"{path} is not a whole dataset; collect again")
    return pairs


def _as_lines(dataset: Dataset) -> bytes:
    header = {
        "new": dataset.new_count,
        "replay": dataset.replay_count,
        "dropped": dataset.dropped,
        "notes": dataset.notes,
    }
    rows = [{"dataset": header}, *(pair.to_json() for pair in dataset.pairs)]
    return b"".join(orjson.dumps(row) + b"\n" for row in rows)
