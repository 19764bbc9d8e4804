"""The served engine: found, started once, or the operator's own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from cipher_nb.adapters import changelog as changelogs
from cipher_nb.adapters.changelog import Changelog
from cipher_nb.adapters.serving import connect, refresh
from cipher_nb.cli import main
from cipher_nb.engine import daemon, swap
from cipher_nb.engine.client import Client
from cipher_nb.errors import BrokenProductionError, ConfigError, EngineError, SwapError
from cipher_nb.files import locked, write_json
from cipher_nb.workspace import Workspace
from tests.adapter_files import write_adapter
from tests.bad_adapters import bad_adapters
from tests.engine.own_server import KEY, own_server

QUESTION = [{"role": "user", "content": "Name a colour."}]
STORY = [{"role": "user", "content": "Tell me a long story about a dog and a cat."}]
LOG = Changelog("2026-11-30-0210", "2026-11-30T02:10:00.000Z", "one", "PROVEN", (), 9, 0.1, 0.0)


@pytest.fixture
def ws(embedded_gguf: Path, tmp_path: Path) -> Iterator[Workspace]:
    """A workspace on the embedded model, and an engine that is stopped afterwards."""
    ws = Workspace.init(tmp_path / "ws")
    ws.paths.config.write_text(f'[model]\nname = "{embedded_gguf}"\n')
    ws = Workspace.open(tmp_path / "ws")
    yield ws
    stop(ws)


def stop(ws: Workspace) -> None:
    running = daemon.find(ws.paths.engine)
    if running:
        daemon.retire(running, ws.paths.engine)


def stage(ws: Workspace, adapter: str, *, seed: int) -> None:
    file = write_adapter(ws.paths.root / f"{adapter}.gguf", name=adapter, seed=seed)
    ws.registry.add(adapter, file, manifest={})
    ws.registry.stage(adapter)


def answer(ws: Workspace) -> str:
    with ws.engine() as client:
        return client.chat(QUESTION, max_tokens=6).text


def errors(ws: Workspace) -> list[str]:
    return [event.fields["message"] for event in ws.bus.read_state(type="error")]


@pytest.mark.model
def test_two_callers_at_once_get_one_engine(embedded_gguf: Path, tmp_path: Path) -> None:
    ws = Workspace.init(tmp_path)
    with ThreadPoolExecutor(2) as pool:
        calls = [
            pool.submit(refresh, ws.paths, ws.config, ws.registry, model=embedded_gguf, bus=ws.bus) for _ in range(2)
        ]
        found = [call.result() for call in calls]
    try:
        assert found[0] == found[1]
    finally:
        for each in found:
            daemon.retire(each, ws.paths.engine)


@pytest.mark.model
def test_nobody_waits_for_an_engine_that_holds_what_is_needed(embedded_gguf: Path, tmp_path: Path) -> None:
    ws = Workspace.init(tmp_path)
    impatient = replace(ws.config, engine=replace(ws.config.engine, start_timeout_s=0.1))
    running = refresh(ws.paths, ws.config, ws.registry, model=embedded_gguf, bus=ws.bus)
    try:
        with locked(ws.paths.engine):
            assert refresh(ws.paths, impatient, ws.registry, model=embedded_gguf, bus=ws.bus) == running
    finally:
        daemon.retire(running, ws.paths.engine)


@pytest.mark.model
def test_an_operators_own_server_is_asked_as_it_is(
    embedded_client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ws = Workspace.init(tmp_path)
    ws.paths.config.write_text(f'[engine]\nurl = "{embedded_client.url}"\napi_key_env = "MY_SERVER_KEY"\n')
    ws = Workspace.open(tmp_path)
    with pytest.raises(ConfigError, match="names MY_SERVER_KEY, which is not set; export it"):
        connect(ws.paths, ws.config, ws.registry, model=None, bus=ws.bus)
    monkeypatch.setenv("MY_SERVER_KEY", embedded_client.api_key)
    with connect(ws.paths, ws.config, ws.registry, model=None, bus=ws.bus) as client:
        assert len(client.tokenize("12")) == 2
    assert daemon.find(ws.paths.engine) is None


@pytest.mark.slow
@pytest.mark.model
def test_no_bad_adapter_is_loaded_and_the_engine_goes_on(ws: Workspace, embedded_gguf: Path) -> None:
    bad = [each for each in bad_adapters(embedded_gguf) if each.name != "a-folder"]  # that one cannot be staged
    assert len(bad) >= 15
    with ws.engine() as client:
        said = client.chat(QUESTION, max_tokens=4).text
    first = daemon.find(ws.paths.engine)
    assert first is not None
    for each in bad:
        home = ws.registry.folder / each.name
        home.mkdir(parents=True)
        each.write(home / "adapter.gguf")
        write_json(home / "manifest.json", {})
        ws.registry.stage(each.name)
        for _ in range(2):  # it is looked at once
            with ws.engine() as client:
                assert client.chat(QUESTION, max_tokens=4).text == said
                assert client.adapters() == []
        found = daemon.find(ws.paths.engine)
        assert (found is not None and found.pid) == first.pid
        assert f"adapter {each.name} is not loaded: " in errors(ws)[0]
        assert each.words in errors(ws)[0]
    assert len(errors(ws)) == len(bad)


@pytest.mark.slow
@pytest.mark.model
def test_a_bad_staged_file_does_not_keep_production_from_being_served(ws: Workspace) -> None:
    stage(ws, "good", seed=1)
    ws.registry.promote("good")
    stage(ws, "cut", seed=2)
    cut = ws.registry.path("cut")
    cut.write_bytes(cut.read_bytes()[:-1000])
    with ws.engine() as client:
        assert [(each.name, each.scale) for each in client.adapters()] == [("good", 1.0)]
        assert client.adapter == "good"
    status = CliRunner().invoke(main, ["engine", "status", "--workspace", str(ws.paths.root)])
    assert f"not loaded: {cut} (" in status.output
    assert len(errors(ws)) == 1
    assert "adapter.gguf is no GGUF file, or a damaged one" in errors(ws)[0]


@pytest.mark.slow
@pytest.mark.model
def test_a_broken_production_is_an_error_until_it_is_rolled_back(ws: Workspace) -> None:
    stage(ws, "good", seed=1)
    ws.registry.promote("good")
    with ws.engine() as client:
        said = client.chat(QUESTION, max_tokens=4).text
    file = ws.registry.path("good")
    file.write_bytes(file.read_bytes()[:-1000])
    stage(ws, "next", seed=2)
    with ws.engine() as client:  # the running engine has it in memory
        assert (client.adapter, client.chat(QUESTION, max_tokens=4).text) == ("good", said)
    assert errors(ws)[0].startswith("the running engine goes on: adapter good is production and cannot be loaded (")
    stop(ws)
    with pytest.raises(BrokenProductionError, match="nothing is served in its place: go back with: cipher-nb rollback"):
        ws.chat("hello")
    assert ws.registry.state().production == "good"
    assert daemon.find(ws.paths.engine) is None
    decision = ws.decide("rollback")
    assert (decision.status, decision.adapter, ws.registry.state().production) == ("done", "base", "base")
    with ws.engine() as client:
        assert (client.adapter, swap.served(client)) == ("base", "base")


@pytest.mark.slow
@pytest.mark.model
def test_a_request_in_flight_is_finished_by_the_engine_that_is_replaced(ws: Workspace) -> None:
    begun, told = threading.Event(), list[str]()

    def tell() -> None:
        with ws.engine() as client:
            told.append(client.chat(STORY, max_tokens=100, on_text=lambda _: begun.set()).finish_reason)

    teller = threading.Thread(target=tell)
    teller.start()
    assert begun.wait(60)
    blue = daemon.find(ws.paths.engine)
    stage(ws, "next", seed=1)
    with ws.engine() as client:
        assert [each.name for each in client.adapters()] == ["next"]
    teller.join()
    assert told in (["length"], ["stop"])
    assert blue is not None
    assert not blue.alive


@pytest.fixture
def external(ws: Workspace, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Workspace]:
    """Point the workspace at a server of the operator's own."""
    monkeypatch.setenv("MY_SERVER_KEY", KEY)

    def point(url: str) -> Workspace:
        ws.paths.config.write_text(f'[engine]\nurl = "{url}"\napi_key_env = "MY_SERVER_KEY"\n')
        return Workspace.open(ws.paths.root)

    return point


@pytest.mark.slow
@pytest.mark.model
@pytest.mark.parametrize(
    ("server", "erased", "unproved"),
    [
        ({"slot_folder": True}, 2, ["a cache of the adapter before, unless it runs with --cache-ram 0"]),
        ({}, 0, ["Start it with `--slot-save-path`", "--cache-ram 0"]),
        ({"slots": False}, 0, ["Start it with `--slots`", "--cache-ram 0"]),
    ],
)
def test_a_swap_on_an_operators_server_says_what_it_cannot_prove(
    ws: Workspace,
    external: Callable[[str], Workspace],
    embedded_gguf: Path,
    server: dict[str, bool],
    erased: int,
    unproved: list[str],
) -> None:
    stage(ws, "one", seed=1)
    folder = ws.paths.root / "slots" if server.get("slot_folder") else None
    options = {"slot_folder": folder, "slots": server.get("slots", True)}
    with own_server(embedded_gguf, log=ws.paths.root / "log", adapters=[ws.registry.path("one")], **options) as url:
        ws = external(url)
        changelogs.publish(ws.paths.changelog, LOG)
        said = [answer(ws)]
        decision = ws.decide("apply", LOG.ref)
        said.append(answer(ws))
        assert ws.decide("rollback").status == "done"
        assert answer(ws) == said[0] != said[1]
        status = CliRunner().invoke(main, ["engine", "status", "--workspace", str(ws.paths.root)])
    assert decision.status == "done"
    assert decision.proof is not None
    assert (decision.proof.slots_erased, len(decision.proof.unproved)) == (erased, len(unproved))
    for words, reason in zip(unproved, decision.proof.unproved, strict=True):
        assert words in reason
        assert f"not proved: {reason}" in decision.message
    assert status.exit_code == 0
    assert status.output.startswith("serving base at http://127.0.0.1:")
    assert all(words in status.output for words in unproved)


@pytest.mark.slow
@pytest.mark.model
def test_an_operators_server_without_the_adapter_or_with_another_key_changes_nothing(
    ws: Workspace, external: Callable[[str], Workspace], embedded_gguf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with own_server(embedded_gguf, log=ws.paths.root / "log") as url:
        ws = external(url)
        with ws.engine() as client, pytest.raises(SwapError, match=r"does not hold adapter one \(it holds: none\)"):
            swap.serve(client, "one")
        monkeypatch.setenv("MY_SERVER_KEY", "guess")
        with pytest.raises(EngineError, match="answered 401: Invalid API Key"):
            ws.chat("hello")


@pytest.mark.slow
@pytest.mark.model
def test_a_file_of_which_one_value_changed_on_the_disk_is_not_loaded(ws: Workspace) -> None:
    stage(ws, "flipped", seed=1)
    file = ws.registry.path("flipped")
    content = bytearray(file.read_bytes())
    content[-4] ^= 1
    file.write_bytes(content)
    with ws.engine() as client:
        assert client.adapters() == []
    assert "adapter flipped is not loaded: adapter flipped: " in errors(ws)[0]
    assert "has sha256" in errors(ws)[0]
