"""The server's process: who may talk to it, how it ends, what it says when it cannot start."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import httpx
import psutil
import pytest

from cipher_nb.config import EngineSettings
from cipher_nb.engine.client import Client
from cipher_nb.engine.server import ServeSpec, is_alive, serving, started_at
from cipher_nb.errors import EngineError, EngineStartError

pytestmark = pytest.mark.model

PARENT = """
import sys, time
from pathlib import Path
from cipher_nb.config import EngineSettings
from cipher_nb.engine.server import ServeSpec, start
model, folder = Path(sys.argv[1]), Path(sys.argv[2])
spec = ServeSpec(model=model, alias="m", adapters=(), settings=EngineSettings(), slot_folder=folder, log=folder / "log")
print(start(spec, watch_parent=True).process.pid, flush=True)
time.sleep(60)
"""


def spec_for(model: Path, folder: Path, *, adapters: tuple[Path, ...] = ()) -> ServeSpec:
    return ServeSpec(
        model=model,
        alias="smollm2-135m",
        adapters=adapters,
        settings=EngineSettings(),
        slot_folder=folder / "slots",
        log=folder / "engine.log",
    )


def test_it_listens_on_loopback_and_wants_the_key(embedded_client: Client) -> None:
    assert embedded_client.url.startswith("http://127.0.0.1:")
    answer = httpx.post(f"{embedded_client.url}/tokenize", json={"content": "x"})
    assert answer.status_code == 401
    with pytest.raises(EngineError, match="answered 401: Invalid API Key"):
        Client(embedded_client.url, api_key="guess").tokenize("x")


def test_the_with_block_leaves_no_process(embedded_gguf: Path, tmp_path: Path) -> None:
    before = set(psutil.Process().children(recursive=True))
    with serving(spec_for(embedded_gguf, tmp_path)) as client:
        assert client.healthy()
    assert set(psutil.Process().children(recursive=True)) <= before


@pytest.mark.slow
def test_a_killed_parent_leaves_no_orphan(embedded_gguf: Path, tmp_path: Path) -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, str(embedded_gguf), str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    started = started_at(child)
    assert is_alive(child, started)
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    deadline = time.monotonic() + 60
    while is_alive(child, started) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not is_alive(child, started)


def test_a_bad_adapter_stops_the_start_and_the_cause_is_named(embedded_gguf: Path, tmp_path: Path) -> None:
    (tmp_path / "bad.gguf").write_bytes(b"GGUF nonsense")
    spec = spec_for(embedded_gguf, tmp_path, adapters=(tmp_path / "bad.gguf",))
    with pytest.raises(EngineStartError, match=r"did not start: gguf_init.*engine\.log"), serving(spec):
        pass


def test_a_file_that_is_no_model_stops_the_start(tmp_path: Path) -> None:
    (tmp_path / "model.gguf").write_bytes(b"GGUF nonsense")
    with pytest.raises(EngineStartError, match="did not start"), serving(spec_for(tmp_path / "model.gguf", tmp_path)):
        pass
