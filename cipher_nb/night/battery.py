"""Stage battery: production and candidate are asked the same, and whoever else the gate holds the candidate against."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cipher_nb.battery.drift import drift, surprisals
from cipher_nb.battery.families import practice
from cipher_nb.battery.results import Results, write_results
from cipher_nb.battery.samples import Sample
from cipher_nb.engine import swap
from cipher_nb.engine.steady import SteadyServers
from cipher_nb.model import Message
from cipher_nb.night.anchors import anchors
from cipher_nb.night.comparing import Comparison
from cipher_nb.night.folder import NightFolder, Progress
from cipher_nb.night.measure import ShouldStop, measure, night_servers
from cipher_nb.night.parts import Parts
from cipher_nb.night.questions import Questions, leaked, questions
from cipher_nb.training.data.dataset import read_dataset

CANARY_PROMPTS = 12
CANARY_TOKENS = 24
PRACTICE_ASKED = 24
"""How many of the questions a category was trained on are asked back: their score beside the sealed one's."""


@dataclass(frozen=True)
class Bench:
    """Servers that hold everything this stage compares, and what they are asked."""

    parts: Parts
    folder: NightFolder
    model: SteadyServers
    asked: Questions
    should_stop: ShouldStop

    def measure(self, adapter: str, samples: Sequence[Sample], *, what: str) -> Results:
        progress = Progress(self.folder, what)
        return measure(self.parts, self.model, adapter, samples, on_progress=progress, should_stop=self.should_stop)


def battery_stage(parts: Parts, folder: NightFolder, *, should_stop: ShouldStop) -> dict[str, Any]:
    """Ask production and candidate until enough is known, then the anchors; return where the answers lie.

    Samples that share text with the night's dataset are retired first, by name. The candidate's practice scores, its
    drift and the canary are recorded on the way.
    """
    candidate = folder.require("export")["adapter"]
    production = parts.registry.state().production
    against = anchors(parts, production=production)
    asked = questions(parts.config, parts.paths)
    retired = leaked(asked.first(asked.sizes), read_dataset(folder.dataset))
    started = time.monotonic()
    with night_servers(parts, [production, candidate, *against.values()]) as model:
        bench = Bench(parts, folder, model, asked.without(retired), should_stop)
        adapters = {"production": production, "candidate": candidate}
        compared = Comparison(parts, folder, model, adapters, bench.asked, should_stop).run()
        files = {"production": compared.production, "candidate": compared.candidate}
        files |= _anchored(bench, against, compared.candidate)
        practised = _practice_scores(bench, candidate, compared.candidate)
        drifted = _drift(model, candidate, budget=parts.config.battery.max_drift)
        _record_canary(bench, production, candidate)
    for role, results in files.items():
        write_results(folder.path / f"{role}.jsonl", results)
    return {
        "production": production,
        "candidate": candidate,
        "anchors": against,
        "results": {role: f"{role}.jsonl" for role in files},
        "samples": len(compared.candidate.rows),
        "sizes": bench.asked.sizes,
        "must_pass": sorted(asked.pinned),
        "left_out": asked.left_out,
        "asked": {"per_category": parts.config.battery.per_category, "seed": parts.config.battery.seed},
        "leaked": [_leak(sample, retired[sample.id]) for sample in asked.first(asked.sizes) if sample.id in retired],
        "practice": practised,
        "drift": drifted,
        "spent": dict(compared.spent),
        "in_time": compared.in_time,
        "seconds": round(time.monotonic() - started, 1),
    }


def _anchored(bench: Bench, against: Mapping[str, str], candidate: Results) -> dict[str, Results]:
    """Return the anchors' answers to what the candidate was asked; most are on record from their own nights."""
    ids = {row.sample for row in candidate.rows}
    samples = [sample for sample in bench.asked.all() if sample.id in ids]
    return {name: bench.measure(adapter, samples, what=f"battery of {name}") for name, adapter in against.items()}


def _practice_scores(bench: Bench, adapter: str, candidate: Results) -> dict[str, Any]:
    """Return, for each category that was trained on, its sealed score beside that on questions it was trained on."""
    sealed = candidate.category_scores()
    seed = bench.parts.config.battery.seed
    told = {}
    for weak in bench.folder.require("collect")["weak"]:
        samples = practice(weak["category"], min(weak["pairs"], PRACTICE_ASKED), seed=seed)
        scores = bench.measure(adapter, samples, what=f"practice of {weak['category']}").category_scores()
        if weak["category"] in scores and weak["category"] in sealed:
            name = weak["category"]
            told[name] = {"sealed": sealed[name], "practice": scores[name], "n": len(samples)}
    return told


def _drift(model: SteadyServers, candidate: str, *, budget: float) -> dict[str, Any]:
    surprised = []
    for adapter in (swap.BASE, candidate):
        model.serve(adapter)
        surprised.append(surprisals(model.client))
    nats = drift(*surprised)
    return {"nats_per_token": round(nats, 4), "budget": budget, "passed": nats <= budget, "tokens": len(surprised[0])}


def _leak(sample: Sample, words: str) -> dict[str, str]:
    return {"sample": sample.id, "category": sample.category, "words": words}


def _record_canary(bench: Bench, production: str, candidate: str) -> None:
    adapters = list(dict.fromkeys((swap.BASE, production, candidate)))
    canary = swap.record(bench.model.client, adapters, _canary_prompts(bench.folder), max_tokens=CANARY_TOKENS)
    bench.parts.registry.set_canary(candidate, canary)


def _canary_prompts(folder: NightFolder) -> Sequence[Sequence[Message]]:
    pairs = [pair for pair in read_dataset(folder.dataset) if pair.source != "replay"]
    shortest = sorted(pairs, key=lambda pair: sum(len(message["content"]) for message in pair.messages))
    return [pair.messages for pair in shortest[:CANARY_PROMPTS]]
