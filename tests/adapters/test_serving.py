"""The served engine: found, started once, or the operator's own."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from cipher_nb.adapters.serving import connect, refresh
from cipher_nb.engine import daemon
from cipher_nb.engine.client import Client
from cipher_nb.errors import ConfigError
from cipher_nb.files import locked
from cipher_nb.workspace import Workspace


@pytest.mark.model
def test_two_callers_at_once_get_one_engine(embedded_gguf: Path, tmp_path: Path) -> None:
    ws = Workspace.init(tmp_path)
    with ThreadPoolExecutor(2) as pool:
        calls = [pool.submit(refresh, ws.paths, ws.config, ws.registry, model=embedded_gguf) for _ in range(2)]
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
    running = refresh(ws.paths, ws.config, ws.registry, model=embedded_gguf)
    try:
        with locked(ws.paths.engine):
            assert refresh(ws.paths, impatient, ws.registry, model=embedded_gguf) == running
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
        connect(ws.paths, ws.config, ws.registry, model=None)
    monkeypatch.setenv("MY_SERVER_KEY", embedded_client.api_key)
    with connect(ws.paths, ws.config, ws.registry, model=None) as client:
        assert len(client.tokenize("12")) == 2
    assert daemon.find(ws.paths.engine) is None
