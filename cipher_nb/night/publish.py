"""Stages stage and changelog: put a candidate before the operator, or set it aside with the reason."""

from __future__ import annotations

from typing import Any

from cipher_nb.adapters import changelog as changelogs
from cipher_nb.adapters.changelog import Changelog
from cipher_nb.adapters.serving import refresh
from cipher_nb.engine import daemon
from cipher_nb.night.folder import NightFolder
from cipher_nb.night.parts import Parts
from cipher_nb.records import format_ts

NEVER_STAGED = ("REGRESSION", "COULD_NOT_RUN")


def stage_stage(parts: Parts, folder: NightFolder) -> dict[str, Any]:
    """Stage the candidate if the rule passed and the evidence does not forbid it; archive it otherwise.

    A served engine that runs is replaced by one that holds the candidate too, silent, so that APPLY is only a swap.
    """
    adapter, gate = folder.require("export")["adapter"], folder.require("gate")
    reason = _objection(gate)
    if reason:
        parts.registry.archive(adapter, reason=reason)
        return {"adapter": adapter, "status": "archived", "reason": reason}
    parts.registry.stage(adapter)
    if daemon.find(parts.paths.engine):
        refresh(parts.paths, parts.config, parts.registry, model=parts.model(), bus=parts.bus)
    return {"adapter": adapter, "status": "staged", "reason": ""}


def changelog_stage(parts: Parts, folder: NightFolder) -> dict[str, Any]:
    """Publish the changelog of a staged adapter; for an archived one, only say what happened."""
    staged, gate, collected = (folder.require(name) for name in ("stage", "gate", "collect"))
    deltas = [row["delta"] for row in gate["rule"]["categories"] if row["delta"] is not None]
    changelog = Changelog(
        id=folder.run_id,
        created=format_ts(parts.clock()),
        adapter=staged["adapter"],
        verdict=gate["verdict"],
        patterns=tuple(collected["learned_new"]),
        pairs=collected["new_pairs"],
        composite_delta=gate["rule"]["composite_delta"] or 0.0,
        worst_delta=min(deltas, default=0.0),
        report=str(folder.report.relative_to(parts.paths.root)),
        status="pending" if staged["status"] == "staged" else "archived",
    )
    if staged["status"] == "staged":
        changelogs.publish(parts.paths.changelog, changelog)
    return changelog.to_json()


def headline(folder: NightFolder) -> str:
    """Return the night in one sentence: the verdict first, then what became of the adapter."""
    gate, staged = folder.require("gate"), folder.require("stage")
    delta = gate["rule"]["composite_delta"] or 0.0
    fate = "staged, waiting for your decision" if staged["status"] == "staged" else f"archived: {staged['reason']}"
    return f"{gate['verdict']}: composite {delta:+.2f}; adapter {staged['adapter']} {fate}"


def _objection(gate: dict[str, Any]) -> str:
    if gate["verdict"] in NEVER_STAGED:
        return f"{gate['verdict']}: {gate['reason']}"
    if not gate["rule"]["passed"]:
        return f"the rule failed: {gate['rule']['reason']}"
    failed = [f"{name} ({rule['reason']})" for name, rule in gate.get("anchors", {}).items() if not rule["passed"]]
    if failed:
        return f"below its anchors: {', '.join(failed)}"
    moved = gate.get("drift")
    if moved and not moved["passed"]:
        return f"drifted {moved['nats_per_token']:.2f} nats per token from the base, {moved['budget']:.2f} are allowed"
    return ""
