"""What of the operator's work a night may train on: all that was verified and still stands, and what of it is new."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from cipher_nb.battery.families import CATEGORIES
from cipher_nb.night.folder import NightFolder, list_nights
from cipher_nb.night.parts import Parts
from cipher_nb.night.questions import questions
from cipher_nb.records import Event
from cipher_nb.training.data.dataset import APPROVED, LeftOut
from cipher_nb.training.data.pairs import Pair, collect, read_pairs
from cipher_nb.training.data.rejected import REJECTED, collect_rejected
from cipher_nb.training.data.screen import screen
from cipher_nb.training.data.store import PairStore, standing


@dataclass(frozen=True)
class Work:
    """The pairs that may be trained on, oldest first, and the work that may not, each with the reason.

    `trained_before` are ids of the pairs that the adapter judged last was trained on: what is not among them is new.
    `rejected` is what the operator turned down, where the settings have it learned from. `sealed_texts` is what the
    battery's own samples ask: what an operator's file asks may be work of theirs, and is retired.
    """

    pairs: tuple[Pair, ...]
    left_out: tuple[LeftOut, ...]
    trained_before: frozenset[str]
    rejected: tuple[Pair, ...]
    sealed_texts: tuple[str, ...]

    @property
    def new_count(self) -> int:
        return len(self.pairs) - self.earlier_count

    @property
    def earlier_count(self) -> int:
        return sum(pair.id in self.trained_before for pair in self.pairs)


def verified_work(parts: Parts, folder: NightFolder, events: Sequence[Event], *, since: datetime) -> Work:
    """Take what was verified since `since` into the store of pairs, and return all that may be trained on by now.

    What was rejected after it was stored is left out until it is approved again; what was purged, for good. A night
    that found too little or came to no verdict uses nothing up: its pairs are still new.
    """
    stood, left_out = _standing(parts, events, since)
    rejected, without_pair = _rejected(parts, events)
    sealed = _sealed_texts(parts)
    usable, screened = screen(stood, sealed, secrets=parts.config.bus.secrets)
    last = next(judged(parts, besides=folder), None)
    return Work(
        pairs=tuple(usable),
        left_out=(
            *(LeftOut(name, APPROVED, reason) for name, reason in (*left_out, *screened)),
            *(LeftOut(name, REJECTED, reason) for name, reason in without_pair),
        ),
        trained_before=frozenset(pair.id for pair in read_pairs(last.dataset)) if last else frozenset(),
        rejected=rejected,
        sealed_texts=sealed,
    )


def judged(parts: Parts, *, besides: NightFolder) -> Iterator[NightFolder]:
    """Yield the other nights whose adapter got a verdict, newest first."""
    for night in list_nights(parts.paths.nights):
        gate = night.result("gate") if night.run_id != besides.run_id else None
        if gate and gate.get("verdict") != "COULD_NOT_RUN":
            yield night


def _sealed_texts(parts: Parts) -> tuple[str, ...]:
    asked = questions(parts.config, parts.paths).categories
    return tuple(sample.user_text for name, samples in asked.items() if name in CATEGORIES for sample in samples)


def _standing(parts: Parts, events: Sequence[Event], since: datetime) -> tuple[tuple[Pair, ...], list[tuple[str, str]]]:
    """Return the stored pairs that stand, and the others and the tasks that gave none, by id with the reason."""
    turns, store = parts.transcripts.read(), PairStore(parts.paths.pairs)
    tonight, ever = (collect(events, turns, since=start) for start in (since, None))
    allowed = store.without_purged(tonight.pairs, events)
    store.add(allowed.pairs)
    known = store.read()
    unpurged = store.without_purged(known, events)
    still = standing(unpurged.pairs, events, verified=ever.pairs)
    store.add(still.pairs)  # with the events that came to stand behind them since
    gone = dict((*allowed.dropped, *unpurged.dropped, *still.dropped))
    told = {pair.task for pair in (*tonight.pairs, *known) if pair.id in gone}
    return still.pairs, [*gone.items(), *(row for row in tonight.dropped if row[0] not in told)]


def _rejected(parts: Parts, events: Sequence[Event]) -> tuple[tuple[Pair, ...], list[tuple[str, str]]]:
    """Return the rejected pairs to learn from, and the tasks and pairs that are none, by id with the reason."""
    if parts.config.training.rejections == "ignore":
        return (), []
    found = collect_rejected(events, parts.transcripts.read())
    unpurged = PairStore(parts.paths.pairs).without_purged(found.pairs, events)
    return unpurged.pairs, [*found.dropped, *unpurged.dropped]
