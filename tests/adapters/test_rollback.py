"""Rollback past adapters that saw what was purged, on a real served engine and on an operator's own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from cipher_nb.adapters import changelog as changelogs
from cipher_nb.adapters.changelog import Changelog
from cipher_nb.adapters.decisions import Decision
from cipher_nb.adapters.state import Mark
from cipher_nb.cli.machine import engine_status
from cipher_nb.engine import daemon
from cipher_nb.engine.client import Client
from cipher_nb.errors import DecisionError
from cipher_nb.jsonl import read_lines
from cipher_nb.workspace import Workspace
from tests.adapter_files import write_adapter

pytestmark = [pytest.mark.model, pytest.mark.slow]

A, B, C = "aaaa00000001", "bbbb00000002", "cccc00000003"
MARK = Mark("2026-11-30T12:00:00.000Z", 2)
SAID = "was trained on 2 pairs purged at 2026-11-30T12:00:00.000Z"


@pytest.fixture
def ws(embedded_gguf: Path, tmp_path: Path) -> Iterator[Workspace]:
    """A workspace whose production was A, then B, and is C now; an engine that is started is stopped afterwards."""
    Workspace.init(tmp_path / "ws").paths.config.write_text(f'[model]\nname = "{embedded_gguf}"\n')
    ws = Workspace.open(tmp_path / "ws")
    for seed, adapter in enumerate((A, B, C)):
        file = write_adapter(tmp_path / "made.gguf", name=adapter, seed=seed)
        ws.registry.add(adapter, file, manifest={"adapter": adapter})
        ws.registry.stage(adapter)
        ws.registry.promote(adapter)
    yield ws
    running = daemon.find(ws.paths.engine)
    if running:
        daemon.retire(running, ws.paths.engine)


def applied(ws: Workspace) -> list[str]:
    with ws.engine() as client:
        return [each.name for each in client.adapters() if each.scale]


def reasons(decision: Decision) -> list[str]:
    """Return what the message says beyond the swap itself, which differs in its milliseconds."""
    return [words for words in decision.message.split("; ") if " was " in words]


def test_a_marked_production_goes_back_past_a_marked_one_to_the_newest_that_is_not(ws: Workspace) -> None:
    assert applied(ws) == [C]
    ws.registry.mark({C: MARK, B: MARK})
    status = CliRunner().invoke(engine_status, ["--workspace", str(ws.paths.root)])
    assert status.output.splitlines()[-1] == (
        f"{C}: {SAID.removeprefix('was ')}; serve the one before with: cipher-nb rollback"
    )
    decision = ws.decide("rollback")
    assert (decision.status, decision.adapter) == ("done", A)
    assert reasons(decision) == [f"{C} {SAID}", f"{B} was passed over: {SAID.removeprefix('was ')}"]
    assert applied(ws) == [A]
    assert (ws.registry.state().production, ws.registry.state().previous) == (A, "base")
    assert [(row["action"], row["status"], row["adapter"]) for row in read_lines(ws.paths.audit)] == [
        ("rollback", "asked", A),
        ("rollback", "done", A),
    ]


def test_where_all_that_was_production_is_marked_the_base_answers(ws: Workspace) -> None:
    ws.registry.mark({A: MARK, B: MARK, C: MARK})
    decision = ws.decide("rollback")
    assert (decision.status, decision.adapter) == ("done", "base")
    assert applied(ws) == []


def test_an_unmarked_production_goes_back_to_the_one_before_even_if_marked_and_says_so(ws: Workspace) -> None:
    ws.registry.mark({B: MARK})
    decision = ws.decide("rollback")
    assert (decision.adapter, reasons(decision)) == (B, [f"{B} {SAID}"])
    assert applied(ws) == [B]


def test_an_engine_that_does_not_hold_the_one_before_goes_back_to_what_it_holds(
    ws: Workspace, embedded_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_SERVER_KEY", embedded_client.api_key)
    ws.paths.config.write_text(f'[engine]\nurl = "{embedded_client.url}"\napi_key_env = "MY_SERVER_KEY"\n')
    decision = Workspace.open(ws.paths.root).decide("rollback")
    assert (decision.status, decision.adapter) == ("done", "base")
    assert (ws.registry.state().production, ws.registry.state().previous, ws.registry.needed()) == ("base", "base", [])
    assert reasons(decision) == [f"{B} was passed over: not loaded in the engine"]


def test_a_marked_adapter_is_not_applied_and_can_be_skipped(ws: Workspace, tmp_path: Path) -> None:
    staged = "dddd00000004"
    ws.registry.add(staged, write_adapter(tmp_path / "made.gguf", name=staged, seed=4), manifest={})
    ws.registry.stage(staged)
    log = Changelog("2026-11-30-0210", "2026-11-30T02:10:00.000Z", staged, "PROVEN", (), 9, 0.1, 0.0)
    changelogs.publish(ws.paths.changelog, log)
    ws.registry.mark({staged: MARK})
    with pytest.raises(DecisionError, match=f"adapter {staged} {SAID}; set it aside with: cipher-nb skip {log.ref}"):
        ws.decide("apply", log.ref)
    assert ws.decide("skip", log.ref).status == "done"
    assert (ws.registry.state().production, ws.registry.state().staged) == (C, "")
