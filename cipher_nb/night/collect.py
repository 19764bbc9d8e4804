"""Stage collect: verified work, practice for what failed, and replay, frozen into the dataset of the night."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

from cipher_nb.battery.evidence.looks import plan
from cipher_nb.battery.families import CATEGORIES, practice
from cipher_nb.battery.samples import Sample
from cipher_nb.engine import swap
from cipher_nb.engine.steady import SteadyServers
from cipher_nb.files import sha256_of
from cipher_nb.learned import LearnedLine, learned
from cipher_nb.night.folder import NightFolder, Progress, list_nights
from cipher_nb.night.healing import Weak, fell_in, healing_pairs, weak_categories
from cipher_nb.night.measure import measure, night_servers
from cipher_nb.night.parts import Parts
from cipher_nb.night.questions import questions
from cipher_nb.records import Event, format_ts
from cipher_nb.training.dataset import Dataset, freeze, replay_wanted
from cipher_nb.training.pairs import Collected, Pair, PairStore, collect
from cipher_nb.training.replay import Prompt, general_prompts, replay_pairs

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
    parts.bus.pack()  # now, while nobody waits for it
    events = parts.bus.read_state()
    store = PairStore(parts.paths.pairs)
    collected = collect(events, parts.transcripts.read(), since=since)
    fresh = store.add(collected.pairs)
    production = parts.registry.state().production
    with night_servers(parts, [production]) as model:
        scores = _production_scores(parts, folder, model, production, should_stop)
        weak = weak_categories(parts.config.battery, scores, fell=fell_in(_last_judged(parts, folder)))
        result = {
            "since": format_ts(since),
            "events": sum(event.ts >= since for event in events),
            "new_pairs": len(fresh),
            "production": production,
            "production_scores": scores,
            "weak": [vars(each) for each in weak],
            **_learned(events, since, parts.config.scaffold.pins),
        }
        if len(fresh) < min_new_pairs and not weak:
            return {
                **result,
                **_nothing(collected, f"{len(fresh)} new pairs, {min_new_pairs} are needed, and no category failed"),
            }
        dataset = _freeze(parts, folder, model, store.read(), weak)
    twin = _twin(parts, folder)
    if twin:
        return {**result, **_nothing(collected, f"nothing new: the dataset is that of night {twin}")}
    return {**result, **_contents(dataset, collected)}


def _production_scores(
    parts: Parts, folder: NightFolder, model: SteadyServers, production: str, should_stop: Callable[[], bool]
) -> dict[str, float]:
    """Return production's scores on the samples of one of the gate's looks, which has them from here."""
    asked = questions(parts.config, parts.paths)
    looks = plan(max(asked.sizes.values()))
    samples = asked.first(dict.fromkeys(asked.categories, looks[min(SCORED_AT, len(looks) - 1)].n))
    progress = Progress(folder, "battery of production")
    return measure(parts, model, production, samples, on_progress=progress, should_stop=should_stop).category_scores()


def _last_judged(parts: Parts, folder: NightFolder) -> NightFolder | None:
    return next(
        (each for each in list_nights(parts.paths.nights) if each.run_id != folder.run_id and each.result("gate")), None
    )


def _learned(events: Sequence[Event], since: datetime, pins: Sequence[str]) -> dict[str, Any]:
    now = learned(events, pins=pins)
    before = {line.pattern for line in learned((event for event in events if event.ts < since), pins=pins)}
    return {"learned": _lines(now), "learned_new": [line.pattern for line in now if line.pattern not in before]}


def _lines(lines: Sequence[LearnedLine]) -> list[str]:
    return [line.line for line in lines]


def _freeze(
    parts: Parts, folder: NightFolder, model: SteadyServers, approved: Sequence[Pair], weak: Sequence[Weak]
) -> Dataset:
    settings = parts.config.training
    new = [*approved, *(pair for each in weak for pair in healing_pairs(each, seed=parts.config.battery.seed))]
    model.serve(swap.BASE)
    replay = replay_pairs(
        model,
        _replay_prompts(parts, replay_wanted(len(new), share=settings.replay_share), weak),
        path=parts.paths.replay / f"{parts.base_sha256[:12]}.jsonl",
        on_progress=Progress(folder, "replay answers of the base"),
    )
    return freeze(
        new,
        replay,
        share=settings.replay_share,
        seed=settings.seed,
        sealed_texts=[sample.user_text for sample in _sealed(parts)],
        path=folder.dataset,
    )


def _replay_prompts(parts: Parts, count: int, weak: Sequence[Weak]) -> list[Prompt]:
    """Return general prompts and, as many again, practice questions of the categories that did not fail.

    The base's own answers to the latter hold on to what it can do where the new pairs could pull it away.
    """
    failed = {each.category for each in weak}
    healthy = [name for name in parts.config.battery.categories or CATEGORIES if name not in failed]
    share = count // 2 // max(1, len(healthy))
    seed = parts.config.battery.seed
    kept: list[Prompt] = [sample.messages for name in healthy for sample in practice(name, share, seed=seed)]
    return [*kept, *general_prompts(count - len(kept), seed=parts.config.training.seed)]


def _sealed(parts: Parts) -> list[Sample]:
    """Return the battery's own samples: what an operator's file asks may be work of theirs, and is retired instead."""
    asked = questions(parts.config, parts.paths)
    return [sample for name, samples in asked.categories.items() if name in CATEGORIES for sample in samples]


def _twin(parts: Parts, folder: NightFolder) -> str:
    """Return the last night that trained on exactly this dataset, or "": training is deterministic."""
    ours = sha256_of(folder.dataset)
    for other in list_nights(parts.paths.nights):
        trained = other.run_id != folder.run_id and other.result("gate") is not None
        if trained and other.dataset.exists() and sha256_of(other.dataset) == ours:
            return other.run_id
    return ""


def _contents(dataset: Dataset, collected: Collected) -> dict[str, Any]:
    sources = [pair.source for pair in dataset.pairs]
    practice_count = sum(source.startswith("practice:") for source in sources)
    return {
        "kept_pairs": sources.count("approved"),
        "practice_pairs": practice_count,
        "replay_pairs": sources.count("replay"),
        "total": len(sources),
        "dropped": [list(row) for row in (*collected.dropped, *dataset.dropped)],
        "sufficient": True,
        "reason": "",
    }


def _nothing(collected: Collected, reason: str) -> dict[str, Any]:
    counts = dict.fromkeys(("kept_pairs", "practice_pairs", "replay_pairs", "total"), 0)
    return {**counts, "dropped": [list(row) for row in collected.dropped], "sufficient": False, "reason": reason}
