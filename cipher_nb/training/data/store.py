"""The store in which verified pairs accumulate, and which of them still stand."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Any

import orjson

from cipher_nb.files import write_atomic
from cipher_nb.jsonl import held, read_lines, write_line
from cipher_nb.records import Event
from cipher_nb.training.data.history import histories
from cipher_nb.training.data.pairs import (
    REJECTED_LATER,
    Collected,
    Pair,
    passed_gates,
    read_pairs,
    rejected_after,
    vouching,
)

PURGED = "an event that it came from was purged"


class PairStore:
    """All pairs ever collected in a workspace: JSONL, a line each.

    Beside it stands what each pair came from, as fingerprints, which outlives the pair: so a pair that was purged is
    known when what is left on the bus would make it again.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.sources = path.with_name("sources.jsonl")

    def read(self) -> list[Pair]:
        """Return every pair, oldest first; torn and foreign lines are left out."""
        return read_pairs(self.path)

    def add(self, pairs: Iterable[Pair]) -> None:
        """Take in the pairs that are not in the store yet, and the events that came to stand behind those that are.

        A pair stays in its place and stands in one line, so that to erase the line is to erase the pair.
        """
        with held(self.path):
            known = {pair.id: pair for pair in self.read()}
            added = {pair.id: pair for pair in pairs if pair.id not in known or _grew(known[pair.id], pair)}
            if added:
                with held(self.sources) as sources:
                    for pair in added.values():
                        write_line(sources, orjson.dumps(_source(pair)))
                lines = (orjson.dumps(pair.to_json()) + b"\n" for pair in (known | added).values())
                write_atomic(self.path, b"".join(lines))

    def without_purged(self, pairs: Iterable[Pair], events: Iterable[Event]) -> Collected:
        """Return `pairs` without those of tasks from which a pair came by an event that the whole bus lacks by now."""
        on_bus = {_fingerprint(event.id) for event in events}
        sources = [*read_lines(self.sources), *map(_source, read_pairs(self.path))]
        purged = {source["task"] for source in sources if not on_bus.issuperset(source["events"])}
        kept: list[Pair] = []
        dropped: list[tuple[str, str]] = []
        for pair in pairs:
            if _fingerprint(pair.task) in purged:
                dropped.append((pair.id, PURGED))
            else:
                kept.append(pair)
        return Collected(tuple(kept), tuple(dropped))


def standing(stored: Iterable[Pair], events: Collection[Event], *, verified: Iterable[Pair]) -> Collected:
    """Return the stored pairs that the operator did not reject since, and the ids of the others with the reason.

    `verified` is what all events and turns give today; a pair that is among them stands, with the events it has there.
    """
    today = {pair.id: pair for pair in verified}
    by_task = histories(events)
    kept: list[Pair] = []
    dropped: list[tuple[str, str]] = []
    for pair in stored:
        objection = "" if pair.id in today else _objection(pair, by_task.get(pair.task, []))
        if objection:
            dropped.append((pair.id, objection))
        else:
            kept.append(today.get(pair.id, pair))
    return Collected(tuple(kept), tuple(dropped))


def _objection(pair: Pair, history: Sequence[Event]) -> str:
    vouched = vouching(history)
    if not vouched or not passed_gates(history):
        return PURGED
    own = [event for event in vouched if event.id in pair.event_ids]
    return REJECTED_LATER if rejected_after(history, own[-1] if own else vouched[0]) else ""


def _grew(known: Pair, now: Pair) -> bool:
    return not set(known.event_ids).issuperset(now.event_ids)


def _source(pair: Pair) -> dict[str, Any]:
    return {"task": _fingerprint(pair.task), "events": [_fingerprint(name) for name in pair.event_ids]}


def _fingerprint(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()[:16]
