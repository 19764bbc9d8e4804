"""Pinning a task from the command line, as its user meets it."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from cipher_nb.cli import main
from cipher_nb.records import Turn, utc_now
from cipher_nb.workspace import Workspace


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    ws = Workspace.init(tmp_path)
    asked = ({"role": "user", "content": "Which command undoes an edit?"},)
    ws.transcripts.append(Turn("t1", utc_now() - timedelta(seconds=9), "t1", "chat", asked, "git restore"))
    ws.bus.append("gate", task="t1", gate="pytest", passed=True, duration_ms=1)
    ws.bus.append("approval", task="t1", tool="chat", pattern="", summary="")
    return tmp_path


def run(workspace: Path, *arguments: str) -> Result:
    return CliRunner().invoke(main, ["battery", *arguments, "--workspace", str(workspace)])


def test_an_approved_task_is_pinned_and_let_go_again(workspace: Path) -> None:
    assert run(workspace, "pin", "t1").output == "pinned t1: normalised git restore\n"
    pinned = json.loads(run(workspace, "pin", "t1", "--scorer", "regex", "--target", "git .*", "--json").stdout)
    assert pinned["metadata"]["scorer"] == "regex"
    assert (workspace / ".aide/battery/must-pass.jsonl").read_text().count("\n") == 1
    assert run(workspace, "unpin", "t1").output == "t1 is not pinned any more\n"
    assert run(workspace, "unpin", "t1").output == "t1 was not pinned\n"


def test_a_task_that_nobody_approved_is_wrong_use(workspace: Path) -> None:
    refused = run(workspace, "pin", "t2")
    assert refused.exit_code == 2
    assert "task t2 cannot be pinned: it was not approved" in refused.output
