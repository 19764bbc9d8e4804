"""What an approval does to the next prompt, step by step, with one process for every step."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

DOCTRINE = "You are a careful coding assistant. Answer briefly. Change only what the task needs."
PATTERN = "Uses pathlib instead of os.path"
LINE = f"[learned] {PATTERN}"


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    cipher(tmp_path, "init")
    return tmp_path


def cipher(workspace: Path, *arguments: str, code: int = 0) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "cipher_nb.cli", *arguments],
        cwd=workspace,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "GIT_CONFIG_GLOBAL": os.devnull},
    )
    assert done.returncode == code, done.stderr
    return done.stdout


def answer(workspace: Path, *arguments: str) -> Any:
    return json.loads(cipher(workspace, *arguments, "--json"))


def vote(workspace: Path, kind: str, pattern: str = PATTERN) -> None:
    cipher(workspace, "event", kind, "tool=edit", f"pattern={pattern}", "summary=loader.py")


def prompt(workspace: Path, *arguments: str) -> str:
    return str(answer(workspace, "scaffold", *arguments)["text"])


def why(workspace: Path) -> str:
    return str(answer(workspace, "learned", "--explain")[0]["why"])


def test_three_approvals_and_then_rejections_threshold_by_threshold(workspace: Path) -> None:
    steps = [
        ("approval", None, "1 of 3 votes"),
        ("approval", None, "2 of 3 votes"),
        ("approval", (3, 3, 1.0), "in, rank 1"),
        ("rejection", (3, 4, 0.75), "in, rank 1"),
        ("rejection", (3, 5, 0.6), "in, rank 1"),  # 60 % exactly
        ("rejection", None, "approved 50 %, 60 % is needed"),
        ("approval", None, "approved 57.1 %, 60 % is needed"),
        ("approval", (5, 8, 0.625), "in, rank 1"),
    ]
    assert answer(workspace, "learned") == []
    assert prompt(workspace) == DOCTRINE
    for kind, enters, reason in steps:
        vote(workspace, kind)
        names = ("pattern", "approved", "count", "rate", "line")
        expected = [dict(zip(names, (PATTERN, *enters, LINE), strict=True))] if enters else []
        assert answer(workspace, "learned") == expected
        assert prompt(workspace) == (f"{DOCTRINE}\n{LINE}" if enters else DOCTRINE)
        assert why(workspace) == reason


def test_an_approved_task_is_in_the_next_prompt(workspace: Path) -> None:
    for _ in range(2):
        vote(workspace, "approval")
    edit = {"op": "write", "path": "loader.py", "text": "from pathlib import Path\n"}
    (workspace / "edits.json").write_text(json.dumps({"intent": "", "checks": [], "edits": [edit]}))
    task = answer(workspace, "task", "use pathlib", "--edits", "edits.json", "--check", "true")
    assert task["verified"] is True
    assert prompt(workspace) == DOCTRINE
    cipher(workspace, "approve", task["task"], "--pattern", PATTERN)
    assert (workspace / "loader.py").read_text() == "from pathlib import Path\n"
    assert answer(workspace, "scaffold") == {
        "text": f"{DOCTRINE}\n{LINE}",
        "lines": 2,
        "bytes": 126,
        "dropped": [],
    }


def test_pins_conflicts_and_tiers_as_the_operator_meets_them(workspace: Path) -> None:
    for pattern in ("Uses tabs", "Uses spaces"):
        for _ in range(3):
            vote(workspace, "approval", pattern)
    config = workspace / ".aide/cipher.toml"
    config.write_text('[scaffold]\ndoctrine = "Be brief."\npins = ["Answers in English"]\nsmall_bytes = 45\n')
    text = "Be brief.\n[learned] Answers in English\n[learned] Uses spaces"
    assert prompt(workspace) == text
    assert answer(workspace, "scaffold", "--tier", "small") == {
        "text": "Be brief.\n[learned] Answers in English",
        "lines": 2,
        "bytes": 38,
        "dropped": ["[learned] Uses spaces"],
    }
    shown = cipher(workspace, "learned", "--explain")
    assert re.sub(r"\d{4}-\d\d-\d\d", "2026-11-30", shown) == (
        "   pattern             votes  rate  at least  newest      why\n"
        "+  Answers in English  none                               pinned\n"
        "+  Uses spaces         3/3    100%  44%       2026-11-30  in, rank 2\n"
        "-  Uses tabs           3/3    100%  44%       2026-11-30  says the opposite of 'Uses\n"
        "                                                          spaces', whose evidence is newer\n"
    )


def test_the_reasons_as_json_have_every_field(workspace: Path) -> None:
    vote(workspace, "approval")
    newest = answer(workspace, "state", "--limit", "1")[0]
    assert answer(workspace, "learned", "--explain") == [
        {
            "pattern": PATTERN,
            "approved": 1,
            "count": 1,
            "rate": 1.0,
            "wilson_low": pytest.approx(0.2065, abs=5e-5),
            "newest": newest["ts"],
            "newest_id": newest["id"],
            "enters": False,
            "why": "1 of 3 votes",
        }
    ]


def test_the_longest_patterns_and_reasons_fit_110_columns(workspace: Path) -> None:
    log = workspace / ".aide/cipher-state.jsonl"
    long = ["Never uses " + "word " * 30, "Uses " + "x" * 110, "No " + "x" * 110]
    rows = [(kind, pattern) for pattern in long for kind in ("approval",) * 300 + ("rejection",) * 190]
    rows = [*rows[:500], *rows[-400:]]
    lines = [json.dumps({"type": kind, "ts": "2026-11-30T12:00:00Z", "pattern": pattern}) for kind, pattern in rows]
    log.write_text("\n".join(lines) + "\n")
    shown = cipher(workspace, "learned", "--explain").splitlines()
    assert max(len(line) for line in shown) <= 110
