"""Apply, skip and rollback on a real served engine, with adapters that change what it answers."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cipher_nb.adapters import changelog as changelogs
from cipher_nb.adapters import decisions
from cipher_nb.adapters.changelog import Changelog
from cipher_nb.adapters.serving import refresh
from cipher_nb.cockpit import Cockpit
from cipher_nb.engine import daemon, swap
from cipher_nb.engine.client import Client
from cipher_nb.errors import DecisionError, EngineError, SwapError
from cipher_nb.jsonl import read_lines
from cipher_nb.server.exchange import prepare
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


def test_a_canary_that_answers_otherwise_takes_the_swap_back(ws: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decisions, "REVERT_PATIENCE_S", 60.0)
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
    green = refresh(ws.paths, ws.config, ws.registry, model=embedded_gguf, bus=ws.bus)
    assert blue is not None
    assert (blue.alive, green.alive) == (False, True)
    with ws.engine() as client:
        assert {each.name: each.scale for each in client.adapters()} == {LOG.adapter: 1.0, "bbbb00000002": 0.0}


def test_nothing_to_roll_back_is_an_answer(ws: Workspace) -> None:
    assert ws.decide("rollback").status == "already"


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.002)


class EnoughError(Exception):
    pass


def applied(client: Client) -> str:
    return ",".join(each.name for each in client.adapters() if each.scale) or "base"


def chat_until(ws: Workspace, enough: threading.Event, *, begun: threading.Event) -> None:
    def hear(piece: str) -> None:
        begun.set()
        if enough.is_set():
            raise EnoughError

    with pytest.raises(EnoughError):
        ws.chat("Tell me a long story about a dog.", task="t", on_text=hear)


def test_a_turn_tells_which_adapter_answered_it_whatever_was_applied_meanwhile(
    ws: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, enough, finish = threading.Event(), threading.Event(), swap._finish

    def finish_after_the_chat(*what: Any) -> None:
        enough.set()
        finish(*what)

    monkeypatch.setattr(swap, "_finish", finish_after_the_chat)
    chat = threading.Thread(target=lambda: chat_until(ws, enough, begun=begun))
    chat.start()
    assert begun.wait(60)
    decision = ws.decide("apply", LOG.ref)
    assert (decision.status, decision.proof and decision.proof.in_flight) == ("done", 1)
    assert "1 requests in flight finished on what answered before" in decision.message
    chat.join()
    chat_until(ws, enough, begun=begun)
    assert [turn.adapter for turn in ws.transcripts.read()] == ["base", LOG.adapter]


def test_a_question_through_the_proxy_is_answered_by_the_adapter_it_is_recorded_with(ws: Workspace) -> None:
    assert ws.decide("apply", LOG.ref).status == "done"
    sent = b'{"messages": [{"role": "user", "content": "hi"}], "lora": [{"id": 0, "scale": 0.0}]}'
    exchange = prepare(ws, sent, None)
    assert exchange.adapter == LOG.adapter
    assert json.loads(exchange.body)["lora"] == [{"id": 0, "scale": 1.0}]


def test_a_swap_that_is_taken_back_is_so_within_ten_seconds_and_proved(ws: Workspace) -> None:
    record_canary(ws, **{LOG.adapter: "what was never said"})
    started = time.monotonic()
    decision = ws.decide("apply", LOG.ref)
    assert time.monotonic() - started < 10
    assert decision.message.endswith("base is applied again, its canary as recorded")


def test_a_server_that_hangs_during_an_apply_is_an_error_and_afterwards_on_production(ws: Workspace) -> None:
    engine = replace(ws.config.engine, request_timeout_s=4.0)
    impatient = replace(ws, config=replace(ws.config, engine=engine))
    record_canary(ws)
    before = answers(ws)
    running = daemon.find(ws.paths.engine)
    assert running is not None

    def stop_when_applied() -> None:
        with running.client(ws.config.engine) as client:
            wait_until(lambda: applied(client) == LOG.adapter)
            os.kill(running.pid, signal.SIGSTOP)

    stopper = threading.Thread(target=stop_when_applied)
    stopper.start()
    try:
        with pytest.raises(SwapError, match=f"not known is whether {LOG.adapter} or base is applied"):
            impatient.decide("apply", LOG.ref)
        with pytest.raises(EngineError, match="did not answer within 4 s"):
            impatient.decide("apply", LOG.ref)
    finally:
        stopper.join()
        os.kill(running.pid, signal.SIGCONT)
    assert ws.registry.state().production == "base"
    assert audit(ws)[-2:] == [("apply", "asked", LOG.adapter), ("apply", "failed", LOG.adapter)]
    assert answers(ws) == before
    assert ws.decide("apply", LOG.ref).status == "done"


def test_registry_and_engine_agree_after_an_apply_that_was_killed(ws: Workspace) -> None:
    record_canary(ws)
    running = daemon.find(ws.paths.engine)
    assert running is not None
    command = [sys.executable, "-P", "-m", "cipher_nb.cli", "apply", LOG.ref, "--workspace", str(ws.paths.root)]
    with running.client(ws.config.engine) as engine:
        moments: list[tuple[Callable[[], bool], float]] = [
            (ws.paths.audit.exists, 0.0),
            (lambda: applied(engine) == LOG.adapter, 0.0),
            (lambda: applied(engine) == LOG.adapter, 0.05),
            (lambda: applied(engine) == LOG.adapter, 0.2),
            (lambda: ws.registry.state().production == LOG.adapter, 0.0),
        ]
        for come, later_s in moments:
            ws.paths.audit.unlink(missing_ok=True)
            with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
                wait_until(come)
                time.sleep(later_s)
                process.kill()
            production = ws.registry.state().production
            with ws.engine() as client:
                assert (client.adapter, applied(engine)) == (production, production)
            assert ws.decide("apply", LOG.ref).status in ("done", "already")
            assert ws.decide("rollback").status == "done"
            ws.registry.stage(LOG.adapter)
            changelogs.publish(ws.paths.changelog, LOG)
