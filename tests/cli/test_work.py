"""The commands of a task on the command line, from edits in a file to an undo."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cipher_nb.sandbox.checks.isolation import available
from cipher_nb.testing import sample_workspace
from tests.cli.test_commands import answer, run

pytestmark = pytest.mark.slow  # every test starts processes


def test_a_task_is_approved_and_undone(tmp_path: Path) -> None:
    root = sample_workspace(tmp_path / "ws").paths.root
    (root / "a.py").write_text("x = 1\n")
    edits = [
        {"op": "replace", "path": "a.py", "search": "1", "replace": "2"},
        {"op": "mode", "path": "a.py", "mode": "755"},
    ]
    (tmp_path / "edits.json").write_text(json.dumps({"edits": edits}))
    made = answer("task", "double x", "--edits", str(tmp_path / "edits.json"), "--check", "true", cwd=root)
    assert "old mode 100644\nnew mode 100755\n" in made["diff"]
    assert answer("approve", made["task"], cwd=root)["status"] == "approved"
    assert (root / "a.py").read_text() == "x = 2\n"
    assert answer("undo", made["task"], cwd=root)["status"] == "undone"
    assert ((root / "a.py").read_text(), (root / "a.py").stat().st_mode & 0o777) == ("x = 1\n", 0o644)
    again = run("undo", made["task"], cwd=root)
    assert again.stdout == f"undone {made['task']}; the files are as they were before its approval\n"
    late = run("approve", made["task"], cwd=root)
    assert late.returncode != 0
    assert "is undone and cannot be approved: the operator undid its approval" in late.stderr


def test_the_diff_is_shown_with_what_held_its_checks_in(tmp_path: Path) -> None:
    root = sample_workspace(tmp_path / "ws").paths.root
    (root / "a.py").write_text("x = 1\n")
    edits = [{"op": "replace", "path": "a.py", "search": "1", "replace": "2"}]
    (tmp_path / "edits.json").write_text(json.dumps({"edits": edits}))
    shown = run("task", "double x", "--edits", str(tmp_path / "edits.json"), "--check", "true", cwd=root).stdout
    assert shown.splitlines()[1:4] == ["  passed  true", f"  held in by: {available()}", ""]
    assert "-x = 1\n+x = 2\n" in shown
