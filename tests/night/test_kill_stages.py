"""One night killed at every stage: the registry is as it was or as it comes to be, and the next `night` goes on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

from cipher_nb import Workspace
from cipher_nb.adapters.registry import State
from cipher_nb.night.folder import STAGES

pytestmark = [pytest.mark.slow, pytest.mark.model]

SETTINGS = """
[battery]
categories = ["settings"]
per_category = 4
fail_below = 1.1
practice_pairs = 6
[training]
rank = 2
epochs = 1
batch_size = 3
"""


def night(ws: Workspace) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "cipher_nb.cli", "night", "--json"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(command, cwd=ws.paths.root, stdout=subprocess.PIPE, text=True, env=environment)


def kill_in(ws: Workspace, stage: str) -> None:
    """Start or go on with the night, and kill -9 it as soon as `stage` is at work."""
    before = STAGES[: STAGES.index(stage)]
    process = night(ws)
    deadline = time.monotonic() + 1200
    while not _at_work(ws, stage, set(before)):
        assert process.poll() is None, process.communicate()[0]
        assert time.monotonic() < deadline, f"the night never came to {stage}"
        time.sleep(0.005)
    family = psutil.Process(process.pid).children(recursive=True)
    process.kill()
    process.communicate()
    _, alive = psutil.wait_procs(family, timeout=60)
    assert alive == []


def _at_work(ws: Workspace, stage: str, before: set[str]) -> bool:
    newest = next(iter(ws.nights()), None)
    if newest is None or before & set(newest.unfinished()):
        return False
    progress = newest.result("progress") or {"stage": ""}
    return {"collect": progress["stage"] != "", "train": progress["stage"] == "training"}.get(stage, True)


def registry_bytes(ws: Workspace) -> bytes:
    path = ws.paths.adapters / "registry.json"
    return path.read_bytes() if path.exists() else b""


@pytest.fixture
def ws(tmp_path: Path, embedded_gguf: Path) -> Workspace:
    ws = Workspace.init(tmp_path / "ws")
    ws.paths.config.write_text(f'[model]\nname = "{embedded_gguf}"\n{SETTINGS}')
    return Workspace.open(ws.paths.root)


def test_a_night_killed_at_every_stage_ends_as_one_night_with_one_adapter(ws: Workspace) -> None:
    for stage in STAGES:
        before = registry_bytes(ws)
        kill_in(ws, stage)
        if stage not in ("stage", "changelog"):
            assert registry_bytes(ws) == before == b""
        assert ws.registry.state().production == "base"
    out, _ = night(ws).communicate(timeout=1200)
    outcome: dict[str, Any] = json.loads(out)
    (folder,) = ws.nights()
    assert (outcome["run_id"], outcome["resumed"]) == (folder.run_id, True)
    assert outcome["status"] in ("staged", "archived")
    assert folder.unfinished() == ()
    assert not folder.training.exists()
    adapter = folder.require("export")["adapter"]
    state: State = ws.registry.state()
    assert adapter in (state.staged, *state.archived)
    assert [path.name for path in ws.paths.adapters.iterdir() if path.is_dir()] == [adapter]
