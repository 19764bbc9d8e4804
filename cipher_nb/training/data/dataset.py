"""The dataset of one night: what is to be learned and replay, screened, mixed and frozen in a file."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import orjson

from cipher_nb.errors import TrainingError
from cipher_nb.files import write_atomic
from cipher_nb.jsonl import read_lines
from cipher_nb.training.data.pairs import Pair, read_pairs
from cipher_nb.training.data.rejected import REJECTED, screen_rejected
from cipher_nb.training.data.screen import Screen

APPROVED, REPLAY = "approved", "replay"


@dataclass(frozen=True)
class LeftOut:
    """What is not trained on and why: the id of a pair, or of a task that gave none; `source` as pairs have it."""

    id: str
    source: str
    reason: str


@dataclass(frozen=True)
class Dataset:
    """What is trained on, in its order, and what became of everything that was offered for it.

    `new_count` of the approved pairs were not trained on before, `earlier_count` were. `came_in` counts by source what
    was offered, of replay perhaps more than was needed. `share` is what was asked for; `notes` are for the operator.
    `rejected` are answers not to give; they stand beside the mix, and count neither in it nor in its share.
    """

    pairs: tuple[Pair, ...]
    new_count: int
    earlier_count: int
    came_in: Mapping[str, int]
    dropped: tuple[LeftOut, ...]
    share: float
    notes: tuple[str, ...] = ()
    rejected: tuple[Pair, ...] = ()

    @property
    def kept(self) -> Mapping[str, int]:
        """Return how many pairs there are of each source."""
        return Counter(pair.source for pair in self.pairs)

    @property
    def practice_count(self) -> int:
        return sum(pair.source.startswith("practice:") for pair in self.pairs)

    @property
    def replay_count(self) -> int:
        return self.kept[REPLAY]

    def header(self) -> dict[str, Any]:
        """Return the dataset's own report as plain JSON types; it stands in the file's first line."""
        kept = self.kept
        return {
            "pairs": len(self.pairs),
            "new": self.new_count,
            "earlier": self.earlier_count,
            "practice": self.practice_count,
            "replay": self.replay_count,
            "rejected": len(self.rejected),
            "share": self.share,
            "sources": [
                {"source": source, "came_in": count, "kept": kept[source]} for source, count in self.came_in.items()
            ],
            "dropped": [asdict(row) for row in self.dropped],
            "notes": list(self.notes),
        }


def replay_wanted(new: int, *, share: float) -> int:
    """Return how much replay makes `share` of the final dataset, rounded to the nearest: 70 new at 0.3 want 30.

    Raises TrainingError for a share that leaves no room for anything else.
    """
    if not 0 <= share < 1:
        raise TrainingError(f"[training] replay_share = {share} must be at least 0 and below 1")
    return round(new * share / (1 - share))


def combine(
    new: Sequence[Pair],
    replay: Sequence[Pair],
    *,
    share: float,
    seed: int,
    sealed_texts: Collection[str],
    secrets: Sequence[str] = (),
    trained_before: Collection[str] = (),
    left_out: Sequence[LeftOut] = (),
    rejected: Sequence[Pair] = (),
) -> Dataset:
    """Screen, mix and shuffle the pairs.

    What may not be trained on is dropped first, so that `share` holds for what remains; of the replay that is left as
    much is taken as that needs, chosen by `seed`. `trained_before` are ids of pairs that are not new any more,
    `left_out` what was turned down before this, `rejected` the answers not to give. The same input gives the same
    dataset. Raises TrainingError when nothing remains to learn, or `share` leaves no room for it.
    """
    screen, dropped = Screen(sealed_texts, secrets=secrets, likely=new), list(left_out)
    learned = list(_sifted(new, screen, dropped))
    wanted = replay_wanted(len(learned), share=share)
    if not learned:
        raise TrainingError(f"none of the {len(new)} new pairs may be trained on; nothing to train")
    rng = random.Random(seed)  # noqa: S311
    replayed = list(islice(_sifted(rng.sample(replay, len(replay)), screen, dropped), wanted))
    mixed = learned + replayed
    rng.shuffle(mixed)
    turned_down, objections = screen_rejected(rejected, mixed, sealed_texts, secrets=secrets)
    dropped += [LeftOut(name, REJECTED, reason) for name, reason in objections]
    approved = [pair.id for pair in learned if pair.source == APPROVED]
    earlier = len(set(trained_before).intersection(approved))
    return Dataset(
        pairs=tuple(mixed),
        new_count=len(approved) - earlier,
        earlier_count=earlier,
        came_in=Counter(
            [*(row.source for row in left_out if row.source != REJECTED), *(pair.source for pair in (*new, *replay))]
        ),
        dropped=tuple(dropped),
        share=share,
        notes=() if len(replayed) == wanted else (f"replay: {len(replayed)} pairs instead of {wanted}",),
        rejected=tuple(turned_down),
    )


def freeze(dataset: Dataset, path: Path) -> None:
    """Write it to `path` as JSONL, atomically: the report on it, then a pair a line. Equal ones give equal bytes."""
    rows = [{"dataset": dataset.header()}, *(pair.to_json() for pair in (*dataset.pairs, *dataset.rejected))]
    write_atomic(path, b"".join(orjson.dumps(row) + b"\n" for row in rows))


def read_dataset(path: Path) -> tuple[Pair, ...]:
    """Return the pairs that `freeze` wrote to `path`, the rejected ones last; TrainingError when it is not whole."""
    pairs, header = tuple(read_pairs(path)), read_header(path)
    if not pairs or len(pairs) != header.get("pairs", 0) + header.get("rejected", 0):
        raise TrainingError(f"{path} is not a whole dataset; collect again")
    return pairs


def read_header(path: Path) -> dict[str, Any]:
    """Return the report that stands in the first line of a dataset; {} where there is none."""
    header = next(iter(read_lines(path)), {}).get("dataset")
    return header if isinstance(header, dict) else {}


def _sifted(pairs: Iterable[Pair], screen: Screen, dropped: list[LeftOut]) -> Iterator[Pair]:
    """Yield the pairs that may be trained on, looking at no more of them than is asked for."""
    for pair in pairs:
        reason = screen.reason(pair)
        if reason is None:
            yield pair
        else:
            dropped.append(LeftOut(pair.id, pair.source, reason))
