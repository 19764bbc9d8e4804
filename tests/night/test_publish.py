"""What is staged, what is archived and with which words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cipher_nb.night.night import Night
from cipher_nb.night.publish import headline
from cipher_nb.workspace import Workspace

ADAPTER = "aaaa00000001"


def judged(
    verdict: str, *, deltas: dict[str, float], passed: bool = True, anchors: dict[str, Any] | None = None
) -> Any:
    rows = [{"category": name, "production": 0.5, "candidate": 0.5 + d, "delta": d} for name, d in deltas.items()]
    composite = sum(deltas.values()) / len(deltas)
    rule = {"passed": passed, "reason": "settings -0.10", "categories": rows, "composite_delta": composite}
    return {"verdict": verdict, "reason": "the reason", "rule": rule, "anchors": anchors or {}}


@pytest.fixture
def ws(tmp_path: Path) -> Workspace:
    ws = Workspace.init(tmp_path / "ws")
    (tmp_path / "a.gguf").write_bytes(b"GGUF")
    ws.registry.add(ADAPTER, tmp_path / "a.gguf", manifest={})
    return ws


def night_of(ws: Workspace, gate: Any) -> Night:
    night = ws.night()
    night.folder.finish("collect", {"learned_new": ["Uses pathlib"], "new_pairs": 3})
    night.folder.finish("export", {"adapter": ADAPTER})
    night.folder.finish("gate", gate)
    return night


@pytest.mark.parametrize("verdict", ["PROVEN", "INCONCLUSIVE"])
def test_an_adapter_that_passed_the_rule_is_staged_and_its_changelog_waits(ws: Workspace, verdict: str) -> None:
    night = night_of(ws, judged(verdict, deltas={"settings": -0.02, "keybindings": 0.1}))
    assert night.stage()["status"] == "staged"
    night.changelog()
    log = ws.changelog()
    assert log is not None
    assert (log.id, log.adapter, log.verdict, log.status) == (night.folder.run_id, ADAPTER, verdict, "pending")
    assert log.text().splitlines()[1:4] == [
        "- 1 new approval pattern (now seen >=3 times)",
        "- 3 trajectory pairs added to my training data",
        "- Battery delta: +0.04 composite, all categories >= -0.02",
    ]
    assert ws.registry.state().staged == ADAPTER


@pytest.mark.parametrize(
    ("gate", "reason"),
    [
        (judged("REGRESSION", deltas={"a": 0.1}), "REGRESSION: the reason"),
        (judged("COULD_NOT_RUN", deltas={"a": 0.1}), "COULD_NOT_RUN: the reason"),
        (judged("INCONCLUSIVE", deltas={"a": 0.1}, passed=False), "the rule failed: settings -0.10"),
        (
            judged("PROVEN", deltas={"a": 0.1}, anchors={"base": {"passed": False, "reason": "a -0.06"}}),
            "below its anchors: base (a -0.06)",
        ),
        (
            {**judged("PROVEN", deltas={"a": 0.1}), "drift": {"nats_per_token": 0.71, "budget": 0.5, "passed": False}},
            "drifted 0.71 nats per token from the base, 0.50 are allowed",
        ),
    ],
)
def test_an_adapter_with_an_objection_is_archived_with_it_and_nothing_waits(
    ws: Workspace, gate: Any, reason: str
) -> None:
    night = night_of(ws, gate)
    assert night.stage() == {"adapter": ADAPTER, "status": "archived", "reason": reason}
    night.changelog()
    assert ws.changelog() is None
    assert ws.registry.state().archived == {ADAPTER: reason}
    assert headline(night.folder).endswith(f"adapter {ADAPTER} archived: {reason}")


def test_a_stage_that_has_its_result_is_not_done_again(ws: Workspace) -> None:
    night = night_of(ws, judged("PROVEN", deltas={"a": 0.1}))
    night.stage()
    ws.registry.archive(ADAPTER, reason="by hand")
    assert night.stage()["status"] == "staged"
    assert ws.registry.state().staged == ""
