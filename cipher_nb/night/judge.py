"""Stages battery and gate: the candidate is asked what production was asked, and the two are compared."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Sequence
from typing import Any

from cipher_nb.battery.gate import compare
from cipher_nb.battery.results import Results, read_results
from cipher_nb.engine import swap
from cipher_nb.engine.client import Client
from cipher_nb.model import Message
from cipher_nb.night.folder import NightFolder, Progress
from cipher_nb.night.measure import measure, night_server, results_of, stored
from cipher_nb.night.parts import Parts
from cipher_nb.training.dataset import read_dataset

CANARY_PROMPTS = 12
CANARY_TOKENS = 24


def battery_stage(parts: Parts, folder: NightFolder, *, should_stop: Callable[[], bool]) -> dict[str, Any]:
    """Ask the battery of production and candidate, record the canary, and return where the answers lie."""
    candidate = folder.require("export")["adapter"]
    production = parts.registry.state().production
    started = time.monotonic()
    with night_server(parts, [production, candidate]) as client:
        for role, adapter in (("production", production), ("candidate", candidate)):
            progress = Progress(folder, f"battery of {role}")
            results, path = measure(parts, client, adapter, on_progress=progress, should_stop=should_stop)
            shutil.copyfile(path, folder.path / f"{role}.jsonl")
        _record_canary(parts, folder, client, production, candidate)
    return {
        "production": production,
        "candidate": candidate,
        "production_results": "production.jsonl",
        "candidate_results": "candidate.jsonl",
        "samples": len(results.rows),
        "seconds": round(time.monotonic() - started, 1),
    }


def gate_stage(parts: Parts, folder: NightFolder) -> dict[str, Any]:
    """Compare candidate and production: the SOP's rule and the evidence, apart."""
    battery = folder.require("battery")
    production = read_results(folder.path / battery["production_results"])
    candidate = read_results(folder.path / battery["candidate_results"])
    return compare(production, candidate, anchors=_anchors(parts, battery["production"])).to_json()


def _anchors(parts: Parts, production: str) -> dict[str, Results]:
    """Return the base's results where they are known and production is not the base itself."""
    base = stored(parts, swap.BASE) if production != swap.BASE else None
    return {"base": base} if base else {}


def standing(parts: Parts) -> list[str]:
    """Return what speaks against production (the rule against the base) and against the staged adapter.

    Raises BatteryError when results that are needed were never measured.
    """
    state = parts.registry.state()
    problems = []
    if state.production != swap.BASE:
        problems += _failures(parts, "production", against="base")
    if state.staged:
        problems += _failures(parts, "staged", against="production")
    return problems


def _failures(parts: Parts, name: str, *, against: str) -> list[str]:
    rule = compare(results_of(parts, against), results_of(parts, name)).rule
    return [] if rule.passed else [f"{name} against {against}: {rule.reason}"]


def _record_canary(parts: Parts, folder: NightFolder, client: Client, production: str, candidate: str) -> None:
    adapters = list(dict.fromkeys((swap.BASE, production, candidate)))
    canary = swap.record(client, adapters, _canary_prompts(folder), max_tokens=CANARY_TOKENS)
    parts.registry.set_canary(candidate, canary)


def _canary_prompts(folder: NightFolder) -> Sequence[Sequence[Message]]:
    pairs = [pair for pair in read_dataset(folder.dataset) if pair.source != "replay"]
    shortest = sorted(pairs, key=lambda pair: sum(len(message["content"]) for message in pair.messages))
    return [pair.messages for pair in shortest[:CANARY_PROMPTS]]
