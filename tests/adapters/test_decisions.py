"""Apply, skip and rollback on a real served engine, with adapters that change what it answers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from cipher_nb.adapters import changelog as changelogs
from cipher_nb.adapters.changelog import Changelog
from cipher_nb.adapters.serving import refresh
from cipher_nb.cockpit import Cockpit
from cipher_nb.engine import daemon, swap
from cipher_nb.errors import DecisionError
from cipher_nb.jsonl import read_lines
from cipher_nb.workspace import Workspace
from tests.adapter_files import write_adapter

pytestmark = [pytest.mark.model, pytest.mark.slow]

SYSTEM = {"role": "system", "content": "You are a careful assistant. Answer in one short sentence."}
QUESTIONS = [
    [SYSTEM, {"role": "user", "content": text}]
    for text in ("Name a colour.", "Name the capital of France.", "Say hello.")
]
LOG = Changelog(
    id="2026-11-30-0210",
    created="2026-11-30T02:10:00.000Z",
    adapter="aaaa00000001",
    verdict="PROVEN",
    patterns=(),
    pairs=9,
    composite_delta=0.1,
    worst_delta=0.0,
)


@pytest.fixture
def ws(embedded_gguf: Path, tmp_path: Path) -> Iterator[Workspace]:
    """A workspace with a staged adapter, its changelog pending, and an engine that is stopped afterwards."""
    ws = Workspace.init(tmp_path / "ws")
    ws.paths.config.write_text(f'[model]\nname = "{embedded_gguf}"\n')
    ws = Workspace.open(tmp_path / "ws")
    file = write_adapter(tmp_path / "one.gguf", name=LOG.adapter, seed=1)
    ws.registry.add(LOG.adapter, file, manifest={"adapter": LOG.adapter})
    ws.registry.stage(LOG.adapter)
    changelogs.publish(ws.paths.changelog, LOG)
    yield ws
    running = daemon.find(ws.paths.engine)
    if running:
        daemon.retire(running, ws.paths.engine)


def record_canary(ws: Workspace, **forged: str) -> None:
    with ws.engine() as client:
        canary = swap.record(client, ["base", LOG.adapter], QUESTIONS, max_tokens=16)
        swap.serve(client, "base")
    ws.registry.set_canary(LOG.adapter, replace(canary, answers={**canary.answers, **forged}))


def answers(ws: Workspace) -> list[str]:
    with ws.engine() as client:
        return [client.chat(question, max_tokens=16).text for question in QUESTIONS]


def audit(ws: Workspace) -> list[tuple[object, object, object]]:
    return [(row["action"], row["status"], row["adapter"]) for row in read_lines(ws.paths.audit)]


def test_apply_swaps_with_proof_and_rollback_gives_the_base_back_exactly(ws: Workspace) -> None:
    record_canary(ws)
    before = answers(ws)
    decision = ws.decide("apply", LOG.ref)
    assert decision.status == "done"
    assert decision.proof is not None
    assert decision.proof.canary == "as recorded"
    with ws.engine() as client:
        assert [(each.name, each.scale) for each in client.adapters()] == [(LOG.adapter, 1.0)]
    assert answers(ws) != before
    assert ws.registry.state().production == LOG.adapter

    assert ws.decide("rollback").status == "done"
    assert answers(ws) == before
    assert ws.registry.state().production == "base"
    with pytest.raises(DecisionError, match="was rolled back; the next night may stage an adapter"):
        ws.decide("apply", LOG.ref)
    assert audit(ws) == [
        ("apply", "asked", LOG.adapter),
        ("apply", "done", LOG.adapter),
        ("rollback", "asked", "base"),
        ("rollback", "done", "base"),
    ]
    phases = [(event.fields["from"], event.fields["to"]) for event in ws.bus.read_state(type="phase")]
    assert phases == [(LOG.adapter, "base"), ("base", LOG.adapter)]


def test_deciding_twice_changes_nothing_the_second_time(ws: Workspace) -> None:
    assert ws.decide("apply", LOG.ref).status == "done"
    state = ws.registry.state()
    assert ws.decide("apply", LOG.ref).status == "already"
    assert ws.registry.state() == state
    with pytest.raises(DecisionError, match="was applied; take it back with: cipher-nb rollback"):
        ws.decide("skip", LOG.ref)


def test_the_cockpits_button_is_the_same_decision(ws: Workspace) -> None:
    record_canary(ws)
    cockpit = Cockpit(ws)
    cockpit.apply_button.click()
    assert ws.registry.state().production == LOG.adapter
    assert [(row["status"], row["by"]) for row in read_lines(ws.paths.audit)] == [
        ("asked", "cockpit"),
        ("done", "cockpit"),
    ]
    assert "canary as recorded" in cockpit.status.value


def test_a_canary_that_answers_otherwise_takes_the_swap_back(ws: Workspace) -> None:
    record_canary(ws, **{LOG.adapter: "what was never said"})
    before = answers(ws)
    decision = ws.decide("apply", LOG.ref)
    assert decision.status == "reverted"
    assert answers(ws) == before
    assert (ws.registry.state().production, ws.registry.state().staged) == ("base", LOG.adapter)
    assert ws.changelog() == LOG
    assert [event.fields["source"] for event in ws.bus.read_state(type="error")] == ["swap"]


def test_an_unproven_adapter_is_applied_only_when_confirmed(ws: Workspace) -> None:
    unproven = replace(LOG, verdict="INCONCLUSIVE")
    changelogs.publish(ws.paths.changelog, unproven)
    assert ws.decide("apply", unproven.ref).status == "confirm"
    assert ws.registry.state().production == "base"
    assert ws.decide("apply", unproven.ref, confirmed=True).status == "done"
    assert [row["confirmed_twice"] for row in read_lines(ws.paths.audit)] == [True, True]


def test_skip_keeps_what_is_served_and_archives_the_rest(ws: Workspace) -> None:
    assert ws.decide("skip", LOG.ref).status == "done"
    state = ws.registry.state()
    assert (state.production, state.staged, state.archived) == ("base", "", {LOG.adapter: "skipped by the operator"})
    assert ws.decide("skip", LOG.ref).status == "already"
    with pytest.raises(DecisionError, match="was skipped"):
        ws.decide("apply", LOG.ref)


def test_a_crash_between_swap_and_registry_is_undone_at_the_next_connection(ws: Workspace) -> None:
    before = answers(ws)
    with ws.engine() as client:
        swap.serve(client, LOG.adapter)  # and here the process died
    assert answers(ws) == before


def test_a_newly_staged_adapter_enters_by_a_second_server_and_the_first_is_retired(
    ws: Workspace, embedded_gguf: Path, tmp_path: Path
) -> None:
    ws.decide("apply", LOG.ref)
    blue = daemon.find(ws.paths.engine)
    file = write_adapter(tmp_path / "two.gguf", name="bbbb00000002", seed=2)
    ws.registry.add("bbbb00000002", file, manifest={})
    ws.registry.stage("bbbb00000002")
    green = refresh(ws.paths, ws.config, ws.registry, model=embedded_gguf)
    assert blue is not None
    assert (blue.alive, green.alive) == (False, True)
    with ws.engine() as client:
        assert {each.name: each.scale for each in client.adapters()} == {LOG.adapter: 1.0, "bbbb00000002": 0.0}


def test_nothing_to_roll_back_is_an_answer(ws: Workspace) -> None:
    assert ws.decide("rollback").status == "already"
