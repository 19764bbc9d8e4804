"""Stage gate: the answers are judged; and what speaks against an adapter outside a night."""

from __future__ import annotations

from typing import Any

from cipher_nb.battery.evidence.looks import plan
from cipher_nb.battery.gate import compare
from cipher_nb.battery.results import Results, read_results, shared
from cipher_nb.night.anchors import anchors
from cipher_nb.night.folder import NightFolder
from cipher_nb.night.measure import compared
from cipher_nb.night.parts import Parts

FROM_BATTERY = ("drift", "leaked", "practice", "spent", "in_time")
"""What the battery stage found that is no comparison, and that the gate reports beside its own."""


def gate_stage(folder: NightFolder) -> dict[str, Any]:
    """Compare candidate and production: the SOP's rule, the evidence and the anchors, apart."""
    battery = folder.require("battery")
    results = {role: read_results(folder.path / name) for role, name in battery["results"].items()}
    candidate = results["candidate"]
    report = compare(
        results["production"],
        candidate,
        anchors={name: _alike(results[name], candidate) for name in battery["anchors"]},
        plan=plan(max(battery["sizes"].values())),
        sizes=battery["sizes"],
        must_pass=battery["must_pass"],
    )
    return {**report.to_json(), **{name: battery[name] for name in FROM_BATTERY}}


def standing(parts: Parts) -> list[str]:
    """Return what speaks against production (the rule against its anchors) and against the staged adapter.

    One that saw what was purged is said first, and no more is asked. Raises BatteryError when results that are needed
    were never measured.
    """
    state = parts.registry.state()
    served = {"production": state.production, "staged": state.staged}
    problems = [f"{role} {each}: {state.warning(each)}" for role, each in served.items() if each in state.marked]
    if problems:
        return problems
    for adapter in anchors(parts, production=state.production).values():
        problems += _failures(parts, "production", against=adapter)
    if state.staged:
        problems += _failures(parts, "staged", against="production")
    return problems


def _alike(anchor: Results, candidate: Results) -> Results:
    return shared(candidate, anchor)[1]


def _failures(parts: Parts, name: str, *, against: str) -> list[str]:
    report = compared(parts, against, name)
    lost = [f"must-pass samples lost: {', '.join(report.must_pass.lost)}"] if report.must_pass.lost else []
    return [f"{name} against {against}: {why}" for why in ([] if report.rule.passed else [report.rule.reason]) + lost]
