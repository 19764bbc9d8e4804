"""Remove something from everywhere, and tell what went and what is left of it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import orjson

from cipher_nb.adapters.registry import Registry
from cipher_nb.adapters.state import WAYS_OUT, Mark, Role
from cipher_nb.battery.pins import FILE as PINNED
from cipher_nb.bus import Bus, Unwanted
from cipher_nb.erasure.doomed import NOTE, Doomed, doom
from cipher_nb.erasure.marks import forget, mark
from cipher_nb.erasure.nights import clean_nights, clean_trials
from cipher_nb.files import locked, remove_leftovers
from cipher_nb.jsonl import append_line, parse_object, rewrite
from cipher_nb.learned import LearnedView
from cipher_nb.paths import Paths
from cipher_nb.records import Clock, format_ts, utc_now
from cipher_nb.transcripts import Transcripts


@dataclass(frozen=True)
class MarkedAdapter:
    """An adapter that was trained on what went: what it is in the registry, and the mark that it has there now."""

    adapter: str
    role: Role
    mark: Mark

    def to_json(self) -> dict[str, Any]:
        return {"adapter": self.adapter, "role": self.role, **asdict(self.mark)}


@dataclass(frozen=True)
class Erased:
    """What went: numbers of events and turns, ids of pairs and tasks; and what had been made from it.

    `learned` are lines that stood in the next prompt and do not any more, `datasets` the nights whose dataset lost
    pairs. `adapters` were trained on it and still are: they are marked, since what they learned cannot be taken out of
    them.
    """

    events: int
    turns: int
    pairs: tuple[str, ...]
    tasks: tuple[str, ...]
    learned: tuple[str, ...]
    datasets: tuple[str, ...]
    adapters: tuple[MarkedAdapter, ...]

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "adapters": [each.to_json() for each in self.adapters]}

    def in_words(self) -> Iterator[str]:
        """Yield what happened, a sentence each, with the way out for what still holds it."""
        counts = (self.events, "events"), (self.turns, "turns"), (len(self.pairs), "pairs")
        listed = ", ".join(f"{count} {what}" for count, what in counts)
        yield f"removed {listed}, {len(self.tasks)} task records"
        for pattern in self.learned:
            yield f"no longer told to the model: {pattern}"
        for night in self.datasets:
            yield f"taken out of the dataset of night {night}; its report may still quote it: cipher-nb report {night}"
        for each in self.adapters:
            yield f"adapter {each.adapter} ({each.role}) is marked: {each.mark.in_words()}{WAYS_OUT.get(each.role, '')}"


def erase(
    unwanted: Unwanted,
    *,
    paths: Paths,
    bus: Bus,
    transcripts: Transcripts,
    registry: Registry,
    pins: Sequence[str] = (),
    clock: Clock = utc_now,
) -> Erased:
    """Remove it from bus, transcripts, pairs, datasets, pinned samples, task records and sandboxes; return what went.

    Adapters that saw it are marked in the registry before anything goes. Every file is rewritten atomically beside its
    writers; killed half-way, the same call finishes it. The audit log keeps that something was erased and how much,
    never what.
    """
    note = paths.aide / NOTE
    with locked(note):
        doomed, at = doom(unwanted, bus=bus, note=note), format_ts(clock())
        mark(registry, doomed, at=at)
        erased, doomed = _erase(doomed, paths, bus, transcripts, pins)
        marks = mark(registry, doomed, at=at)  # again, for what a running night has added since
        forget(registry, doomed, marks)
        row = {"ts": at, "action": "purge", "events": erased.events, "turns": erased.turns}
        append_line(paths.audit, orjson.dumps(row | {"pairs": len(erased.pairs)}), durable=True)
        note.unlink()
    return replace(erased, adapters=_marked(registry, marks))


def _erase(
    doomed: Doomed, paths: Paths, bus: Bus, transcripts: Transcripts, pins: Sequence[str]
) -> tuple[Erased, Doomed]:
    """Return what went, and what is doomed with the events that came in between."""
    unwanted, view = doomed.unwanted, LearnedView(bus, pins=pins)
    before = [line.pattern for line in view.lines(limit=15)]
    purged = bus.purge(ids=unwanted.ids, tasks=unwanted.tasks, before=unwanted.before, everything=unwanted.everything)
    after = {line.pattern for line in view.lines(limit=15)}
    doomed = replace(doomed, ids=doomed.ids | purged.ids - {""})
    datasets = clean_nights(paths.nights, doomed)
    if doomed.made_some_of(paths.pairs):
        clean_trials(paths.trials)
    rewrite(paths.battery / PINNED, lambda line: not _is_pin(line, doomed))
    remove_leftovers(paths.aide, outside=(paths.sandboxes, paths.journal, paths.undo))
    erased = Erased(
        events=purged.count,
        turns=transcripts.purge(tasks=unwanted.tasks, before=unwanted.before, everything=unwanted.everything),
        pairs=_pairs(paths.pairs, doomed),
        tasks=_tasks(paths, doomed),
        learned=tuple(pattern for pattern in before if pattern not in after),
        datasets=datasets,
        adapters=(),
    )
    return erased, doomed


def _pairs(store: Path, doomed: Doomed) -> tuple[str, ...]:
    gone: dict[str, None] = {}

    def keep(line: bytes) -> bool:
        row = parse_object(line)
        if row is None or not doomed.made(row):
            return True
        gone[str(row.get("id"))] = None
        return False

    rewrite(store, keep)
    return tuple(gone)


def _is_pin(line: bytes, doomed: Doomed) -> bool:
    """Tell whether the line is a must-pass sample made from a task that goes, not one the operator wrote."""
    told = (parse_object(line) or {}).get("metadata")
    return isinstance(told, dict) and isinstance(told.get("task"), str) and doomed.made(told)


def _tasks(paths: Paths, doomed: Doomed) -> tuple[str, ...]:
    known = {path.stem for path in paths.tasks.glob("[!.]*.json")}
    gone = sorted(task for task in known if doomed.has_task(task))
    for task in gone:
        (paths.tasks / f"{task}.json").unlink(missing_ok=True)
        for folder in (paths.sandboxes, paths.journal, paths.undo):
            shutil.rmtree(folder / task, ignore_errors=True)
        (paths.sandboxes / f".{task}.json").unlink(missing_ok=True)  # the names of the files that were in the copy
    return tuple(gone)


def _marked(registry: Registry, marks: Mapping[str, Mark]) -> tuple[MarkedAdapter, ...]:
    state = registry.state()
    return tuple(MarkedAdapter(name, state.role(name), each) for name, each in marks.items())
