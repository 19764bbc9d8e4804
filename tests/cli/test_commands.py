"""The command line as its user meets it: real processes, exit codes, one JSON document on stdout."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from cipher_nb.adapters.changelog import Changelog, publish
from cipher_nb.adapters.state import Mark
from cipher_nb.testing import MovableClock, sample_workspace
from cipher_nb.workspace import Workspace

pytestmark = pytest.mark.slow  # every test starts processes


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    return sample_workspace(tmp_path / "ws").paths.root


def run(*arguments: str, cwd: Path, home: Path | None = None) -> subprocess.CompletedProcess[str]:
    cache = {"XDG_CACHE_HOME": str(home)} if home else {}
    return subprocess.run(
        [sys.executable, "-m", "cipher_nb.cli", *arguments],
        cwd=cwd,
        capture_output=True,
        text=True,
        env={**os.environ, **cache},
        check=False,
    )


def answer(*arguments: str, cwd: Path) -> Any:
    done = run(*arguments, "--json", cwd=cwd)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_init_makes_a_workspace_and_keeps_one_that_is_there(tmp_path: Path) -> None:
    assert answer("init", "new", cwd=tmp_path)["config"] == str(tmp_path / "new/.aide/cipher.toml")
    (tmp_path / "new/.aide/cipher.toml").write_text("# mine\n")
    assert run("init", "new", cwd=tmp_path).returncode == 0
    assert (tmp_path / "new/.aide/cipher.toml").read_text() == "# mine\n"


def test_an_event_reaches_state_learned_and_scaffold(workspace: Path) -> None:
    for _ in range(3):
        written = answer("event", "approval", "tool=edit", "pattern=Reads before it writes", "summary=x", cwd=workspace)
        assert written["written"] is True
    newest = answer("state", "--limit", "1", cwd=workspace)[0]
    assert (newest["type"], newest["pattern"], newest["id"]) == ("approval", "Reads before it writes", written["id"])
    assert [row["line"] for row in answer("learned", cwd=workspace)] == [
        "[learned] Uses pathlib instead of os.path",
        "[learned] Reads before it writes",
    ]
    assert answer("scaffold", cwd=workspace)["text"].endswith(
        "[learned] Uses pathlib instead of os.path\n[learned] Reads before it writes"
    )


def test_state_is_filtered_by_type_and_age(workspace: Path) -> None:
    assert len(answer("state", "--type", "rejection", cwd=workspace)) == 3
    assert len(answer("state", "--since", "1h", "--limit", "100", cwd=workspace)) == 10
    assert answer("state", "--type", "ship", cwd=workspace) == []


def test_an_event_without_its_fields_is_not_written_and_the_answer_is_no(workspace: Path) -> None:
    done = run("event", "approval", "tool=edit", "--json", cwd=workspace)
    assert done.returncode == 1
    assert json.loads(done.stdout)["written"] is False


def test_a_workspace_is_named_from_anywhere(workspace: Path, tmp_path: Path) -> None:
    named = ("--workspace", str(workspace))
    assert answer("night", "list", *named, cwd=tmp_path) == []
    assert answer("night", "status", *named, cwd=tmp_path)["running"] is False
    assert answer("engine", "stop", *named, cwd=tmp_path) == {"stopped": False}
    assert len(answer("battery", "list", *named, cwd=tmp_path)) == 95
    refused = run("night", "--when-idle", "2h", *named, "--json", cwd=tmp_path)
    assert (refused.returncode, json.loads(refused.stdout)["status"]) == (1, "not-idle")


def test_typed_fields_become_json_values(workspace: Path) -> None:
    answer("event", "gate", "gate=pytest", "passed=true", "duration_ms=12", cwd=workspace)
    newest = answer("state", "--limit", "1", cwd=workspace)[0]
    assert (newest["passed"], newest["duration_ms"]) == (True, 12)


def test_adapters_and_changelog_of_a_new_workspace(workspace: Path) -> None:
    assert answer("adapters", cwd=workspace) == {
        "production": "base",
        "previous": "base",
        "staged": None,
        "archived": [],
        "adapters": [],
        "archived_bytes": 0,
    }
    assert answer("changelog", cwd=workspace) is None
    assert answer("night", "list", cwd=workspace) == []
    assert answer("check", cwd=workspace) == {"passed": True, "problems": []}


@pytest.fixture
def marked(workspace: Path, tmp_path: Path) -> Path:
    """A workspace whose production was trained on a pair that was purged since, beside an archived adapter."""
    ws = Workspace.open(workspace, clock=MovableClock(datetime(2026, 11, 30, 2, 10, tzinfo=UTC)))
    pairs = [{"id": "p", "source": "approved", "task": "t1", "event_ids": ["e1"]}, {"source": "replay"}]
    for name in ("a1", "b2"):
        (tmp_path / "made.gguf").write_bytes(bytes(1_000_000))
        manifest = {"pairs": pairs if name == "b2" else [], "losses": [0.25], "base": {"sha256": "0123456789"}}
        ws.registry.add(name, tmp_path / "made.gguf", manifest={**manifest, "night": "2026-11-30-0200"})
        ws.registry.stage(name)
        ws.registry.promote(name)
    ws.registry.archive("a1", reason="the rule failed")
    ws.purge(tasks=["t1"])
    return workspace


WARNING = "trained on 1 pair purged at 2026-11-30T02:10:00.000Z"


def test_adapters_lists_where_they_come_from_and_marks(marked: Path) -> None:
    done = run("adapters", cwd=marked)
    assert done.stdout.splitlines() == [
        f"production  b2    {WARNING}; serve the one before with: cipher-nb rollback",
        "previous    a1",
        "staged      none",
        "",
        "adapter  role        made              base      loss   gate  size",
        "b2       production  2026-11-30 02:10  01234567  0.250        1.0 MB",
        f"  night 2026-11-30-0200; pairs: 1 approved, 0 practice, 1 replay; {WARNING}",
        "a1       previous    2026-11-30 02:10  01234567  0.250        1.0 MB",
        "  night 2026-11-30-0200; pairs: 0 approved, 0 practice, 0 replay; the rule failed",
    ]
    listed = answer("adapters", cwd=marked)
    assert [(row["adapter"], row["role"], row["marked"]) for row in listed["adapters"]] == [
        ("b2", "production", {"at": "2026-11-30T02:10:00.000Z", "pairs": 1}),
        ("a1", "previous", None),
    ]


def test_adapters_tells_what_the_archived_ones_take(marked: Path) -> None:
    ws = Workspace.open(marked)
    ws.registry.restore("base")
    assert run("adapters", cwd=marked).stdout.splitlines()[-1] == (
        f"archived adapters take 2.0 MB in {ws.paths.adapters}"
    )
    assert answer("adapters", cwd=marked)["archived_bytes"] > 2_000_000


def test_a_marked_production_fails_the_check_and_the_doctor(marked: Path) -> None:
    done = run("check", "--json", cwd=marked)
    assert done.returncode == 1
    assert json.loads(done.stdout)["problems"] == [
        f"production b2: {WARNING}; serve the one before with: cipher-nb rollback"
    ]
    found = {row["name"]: row for row in json.loads(run("doctor", "--json", cwd=marked).stdout)}
    assert found["production"] == {
        "name": "production",
        "level": "bad",
        "text": f"b2, {WARNING}",
        "mend": "cipher-nb rollback",
    }


def test_a_marked_adapter_that_waits_is_shown_without_the_command_to_apply_it(marked: Path, tmp_path: Path) -> None:
    ws = Workspace.open(marked)
    ws.registry.add("c3", tmp_path / "made.gguf", manifest={})
    ws.registry.stage("c3")
    ws.registry.mark({"c3": Mark("2026-11-30T02:10:00.000Z", 1)})
    log = Changelog("2026-11-30-0210", "2026-11-30T02:10:00.000Z", "c3", "PROVEN", (), 9, 0.1, 0.0)
    publish(ws.paths.changelog, log)
    assert run("changelog", cwd=marked).stdout.splitlines()[-3:] == [
        f"not to be applied, since {WARNING}",
        "cipher-nb review 2026-11-30-0210",
        f"cipher-nb skip {log.ref}",
    ]


def test_a_damaged_registry_is_one_line_and_no_answer(marked: Path) -> None:
    (marked / ".aide/adapters/registry.json").write_text("{")
    done = run("adapters", cwd=marked)
    assert (done.returncode, done.stdout) == (3, "")
    assert "registry.json is not valid JSON; put a copy of it back, or move it away" in done.stderr
    assert "!!  production" in run("doctor", cwd=marked).stdout


def test_a_purge_that_was_cut_short_is_told_by_the_doctor_until_it_is_finished(workspace: Path) -> None:
    note = workspace / ".aide/purging.json"
    note.write_text('["e1"]')
    assert "!!  purge" in run("doctor", cwd=workspace).stdout
    answer("purge", "--event", "e1", cwd=workspace)
    assert not note.exists()


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("apply", "2026-11-30-0210@12345678"), 2, "no changelog is pending"),
        (("approve", "nothing"), 2, "nothing"),
        (("report", "2020-01-01-0000"), 2, "does not exist; newest: none yet"),
        (("state", "--since", "yesterday"), 2, "duration 'yesterday' is not understood"),
        (("scaffold", "--tier", "mikro"), 2, "did you mean micro?"),
        (("battery", "run", "--adapter", "zz"), 2, "adapter 'zz' does not exist"),
        (("event", "approval", "tool"), 2, "is not KEY=VALUE"),
        (("nonsense",), 2, "No such command"),
    ],
)
def test_wrong_use_is_one_line_and_exit_2(workspace: Path, arguments: tuple[str, ...], code: int, words: str) -> None:
    done = run(*arguments, cwd=workspace)
    assert (done.returncode, done.stdout) == (code, "")
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_no_workspace_names_the_command_that_makes_one(tmp_path: Path) -> None:
    done = run("state", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.strip().endswith("make one with: cipher-nb init")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[night]\nsinc_hours = 2\n", "[night] sinc_hours is unknown; did you mean since_hours?"),
        ('[training]\nrank = "8"\n', "[training] rank = '8' must be"),
        ("[night\n", "is not valid TOML"),
    ],
)
def test_a_broken_config_names_key_value_and_file(workspace: Path, text: str, words: str) -> None:
    (workspace / ".aide/cipher.toml").write_text(text)
    done = run("state", cwd=workspace)
    assert done.returncode == 2
    assert words in done.stderr
    assert "cipher.toml" in done.stderr


def test_without_the_model_a_chat_says_how_to_get_it(workspace: Path, tmp_path: Path) -> None:
    done = run("chat", "hello", cwd=workspace, home=tmp_path / "empty")
    assert (done.returncode, done.stdout) == (3, "")
    assert "run: cipher-nb model fetch smollm2-135m" in done.stderr


def test_a_server_that_is_not_there_is_one_line(workspace: Path) -> None:
    (workspace / ".aide/cipher.toml").write_text('[engine]\nurl = "http://127.0.0.1:9"\n')
    done = run("chat", "hello", cwd=workspace)
    assert done.returncode == 3
    assert "http://127.0.0.1:9 does not answer" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_demo_into_a_folder_with_something_in_it_touches_nothing(workspace: Path) -> None:
    before = sorted(workspace.rglob("*"))
    done = run("demo", str(workspace), cwd=workspace)
    assert done.returncode == 2
    assert "is not empty; choose another folder" in done.stderr
    assert sorted(workspace.rglob("*")) == before


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ("init new", 3, "File too large"),
        ("event preference pattern=x direction=prefer", 1, ""),
        ("night", 3, "File too large"),
    ],
)
def test_where_nothing_can_be_written_there_is_one_line_and_the_bus_is_whole(
    workspace: Path, arguments: str, code: int, words: str
) -> None:
    before = (workspace / ".aide/cipher-state.jsonl").read_bytes()
    command = f"ulimit -f 0; exec {sys.executable} -m cipher_nb.cli {arguments}"
    done = subprocess.run(["bash", "-c", command], cwd=workspace, capture_output=True, text=True, check=False)
    assert done.returncode == code
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert (workspace / ".aide/cipher-state.jsonl").read_bytes() == before


@pytest.mark.model
def test_a_demo_without_git_says_so_and_writes_nothing(tmp_path: Path, embedded_gguf: Path) -> None:
    command = [sys.executable, "-m", "cipher_nb.cli", "demo", "d"]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, env={**os.environ, "PATH": "/nowhere"}, check=False
    )
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith("cipher-nb: git is not installed")
    assert not (tmp_path / "d").exists()


def test_doctor_reports_every_finding_as_json(workspace: Path) -> None:
    done = run("doctor", "--json", cwd=workspace)
    found = {row["name"]: row for row in json.loads(done.stdout)}
    assert found["bus"]["text"] == "10 events"
    assert found["production"]["text"] == "base"
    assert "cipher-nb night --workspace" in found["schedule"]["text"]
    assert {"python", "xllamacpp", "git", "memory", "disk", "isolation", "model", "engine"} <= set(found)


def test_help_of_every_command_is_there(workspace: Path) -> None:
    listed = run("--help", cwd=workspace).stdout
    names = {line.split()[0] for line in listed.split("Commands:")[1].splitlines() if line.strip()}
    assert names >= {"init", "demo", "model", "engine", "doctor", "state", "event", "learned", "scaffold", "chat"}
    assert names >= {"task", "approve", "reject", "undo", "ship", "battery", "gate", "night", "report", "check"}
    assert names >= {"adapters", "changelog", "apply", "review", "skip", "rollback"}
