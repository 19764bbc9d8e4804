"""Stage collect: verified work, practice for what failed, and replay, frozen into the dataset of the night."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

from cipher_nb.battery.evidence.looks import plan
from cipher_nb.engine.steady import SteadyServers
from cipher_nb.learned import LearnedLine, learned
from cipher_nb.night.folder import NightFolder, Progress
from cipher_nb.night.healing import fell_in, weak_categories
from cipher_nb.night.measure import measure, night_servers
from cipher_nb.night.mixing import mix, read_own_replay
from cipher_nb.night.parts import Parts
from cipher_nb.night.questions import questions
from cipher_nb.night.work import judged, verified_work
from cipher_nb.records import Event, format_ts
from cipher_nb.training.data.dataset import Dataset, LeftOut
from cipher_nb.training.data.pairs import read_pairs

SCORED_AT = 3
"""Which of the gate's looks gives the scores that decide what has to heal: at half of all samples."""


def collect_stage(
    parts: Parts, folder: NightFolder, *, since_hours: float, min_new_pairs: int, should_stop: Callable[[], bool]
) -> dict[str, Any]:
    """Freeze the night's dataset and return what is in it and why.

    `sufficient` is False, with the reason, when there is too little that is new and nothing that failed.
    """
    now = parts.clock()
    since = now - timedelta(hours=since_hours)
    own_replay = read_own_replay(parts)  # first: a fault in the file is better told before the battery than after it
    parts.bus.pack()  # now, while nobody waits for it
    events = parts.bus.read_state()
    work = verified_work(parts, folder, events, since=since)
    production = parts.registry.state().production
    with night_servers(parts, [production]) as model:
        scores = _production_scores(parts, folder, model, production, should_stop)
        fell = fell_in(next(judged(parts, besides=folder), None))
        weak = weak_categories(parts.config.battery, scores, fell=fell)
        result = {
            "since": format_ts(since),
            "events": sum(event.ts >= since for event in events),
            "new_pairs": work.new_count,
            "earlier_pairs": work.earlier_count,
            "production": production,
            "production_scores": scores,
            "weak": [vars(each) for each in weak],
            **_learned(events, since, parts.config.scaffold.pins),
        }
        if work.new_count < min_new_pairs and not weak:
            return {**result, **_nothing(work.left_out, _too_little(work.new_count, min_new_pairs))}
        dataset = mix(parts, folder, work, weak, model=model, own_replay=own_replay)
    twin = _twin(parts, folder)
    if twin:
        return {**result, **_nothing(dataset.dropped, f"nothing new: the dataset is that of night {twin}")}
    return {**result, **_contents(dataset)}


def _production_scores(
    parts: Parts, folder: NightFolder, model: SteadyServers, production: str, should_stop: Callable[[], bool]
) -> dict[str, float]:
    """Return production's scores on the samples of one of the gate's looks, which has them from here."""
    asked = questions(parts.config, parts.paths)
    looks = plan(max(asked.sizes.values()))
    samples = asked.first(dict.fromkeys(asked.categories, looks[min(SCORED_AT, len(looks) - 1)].n))
    progress = Progress(folder, "battery of production")
    return measure(parts, model, production, samples, on_progress=progress, should_stop=should_stop).category_scores()


def _learned(events: Sequence[Event], since: datetime, pins: Sequence[str]) -> dict[str, Any]:
    now = learned(events, pins=pins)
    before = {line.pattern for line in learned((event for event in events if event.ts < since), pins=pins)}
    return {"learned": _lines(now), "learned_new": [line.pattern for line in now if line.pattern not in before]}


def _lines(lines: Sequence[LearnedLine]) -> list[str]:
    return [line.line for line in lines]


def _twin(parts: Parts, folder: NightFolder) -> str:
    """Return the last night that trained on exactly these pairs in this order, or "": training is deterministic."""
    ours = _ids(folder)
    twins = (night for night in judged(parts, besides=folder) if _ids(night) == ours)
    return next((night.run_id for night in twins), "")


def _ids(night: NightFolder) -> list[str]:
    return [pair.id for pair in read_pairs(night.dataset)]


def _contents(dataset: Dataset) -> dict[str, Any]:
    return {
        "kept_pairs": dataset.new_count + dataset.earlier_count,
        "practice_pairs": dataset.practice_count,
        "replay_pairs": dataset.replay_count,
        "rejected_pairs": len(dataset.rejected),
        "total": len(dataset.pairs),
        "dropped": _dropped(dataset.dropped),
        "notes": list(dataset.notes),
        "sufficient": True,
        "reason": "",
    }


def _nothing(left_out: Sequence[LeftOut], reason: str) -> dict[str, Any]:
    counts = dict.fromkeys(("kept_pairs", "practice_pairs", "replay_pairs", "rejected_pairs", "total"), 0)
    return {**counts, "dropped": _dropped(left_out), "notes": [], "sufficient": False, "reason": reason}


def _dropped(left_out: Sequence[LeftOut]) -> list[list[str]]:
    return [[row.id, row.reason] for row in left_out]


def _too_little(new: int, needed: int) -> str:
    """Return why nothing is trained, for the headline."""
    found = f"{new} new pair{'' if new == 1 else 's'}"
    waiting = "; kept for the next night" if new else ""
    return f"{found}, {needed} are needed, and no category failed{waiting}"
