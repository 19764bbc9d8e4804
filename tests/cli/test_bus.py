"""The bus on the command line: asking, following, purging."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cipher_nb.testing import sample_workspace

pytestmark = pytest.mark.slow  # every test starts processes

CLI = [sys.executable, "-m", "cipher_nb.cli"]


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    return sample_workspace(tmp_path / "ws").paths.root


def run(*arguments: str, cwd: Path, text: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run([*CLI, *arguments], cwd=cwd, input=text, capture_output=True, text=True, check=False)


def answer(*arguments: str, cwd: Path) -> object:
    done = run(*arguments, "--json", cwd=cwd)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_events_are_asked_for_by_several_types_task_session_and_time(workspace: Path) -> None:
    answer("event", "ship", "commit_sha=abc", "files_count=1", "intent=x", "task=t1", "session=s1", cwd=workspace)
    kinds = [row["type"] for row in answer("state", "--type", "ship", "--type", "rejection", cwd=workspace)]
    assert kinds == ["ship", "rejection", "rejection", "rejection"]
    assert [row["type"] for row in answer("state", "--task", "t1", cwd=workspace)] == ["ship"]
    assert [row["type"] for row in answer("state", "--session", "s1", cwd=workspace)] == ["ship"]
    assert answer("state", "--until", "1h", cwd=workspace) == []
    assert answer("state", "--since", "2099-01-01T00:00:00Z", cwd=workspace) == []
    assert run("state", "--since", "2099-01-01", cwd=workspace).stdout == "no such events\n"


def test_what_an_event_says_cannot_command_the_terminal(workspace: Path) -> None:
    answer("event", "note", "text=\x1b]0;owned\x07 two\nlines", cwd=workspace)
    shown = run("state", "--limit", "1", cwd=workspace).stdout
    assert "\x1b" not in shown
    assert "\x07" not in shown
    assert len(shown.splitlines()) == 1


def test_following_shows_events_as_they_come(workspace: Path) -> None:
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    command = [*CLI, "state", "--limit", "1", "--follow"]
    with subprocess.Popen(command, cwd=workspace, stdout=subprocess.PIPE, text=True, env=environment) as following:
        try:
            assert following.stdout is not None
            assert "rejection" in following.stdout.readline()
            time.sleep(1)  # until it has shown what was there and looks for more
            answer("event", "note", "number=1", cwd=workspace)
            assert following.stdout.readline().split()[1:] == ["note", "number=1"]
            following.send_signal(signal.SIGINT)
            assert following.wait(60) in (1, 130)
        finally:
            following.kill()


def test_purging_a_task_removes_it_and_names_what_came_from_it(workspace: Path) -> None:
    for _ in range(3):
        answer("event", "approval", "tool=chat", "pattern=Speaks plainly", "summary=x", "task=t9", cwd=workspace)
    erased = answer("purge", "--task", "t9", cwd=workspace)
    assert erased == {
        "events": 3,
        "turns": 0,
        "pairs": [],
        "tasks": [],
        "learned": ["Speaks plainly"],
        "datasets": [],
        "adapters": [],
    }
    assert answer("state", "--task", "t9", cwd=workspace) == []


def test_purging_all_asks_first(workspace: Path) -> None:
    refused = run("purge", "--all", cwd=workspace, text="n\n")
    assert refused.returncode == 1
    assert len(answer("state", cwd=workspace)) == 10
    assert run("purge", "--all", "--json", cwd=workspace).returncode == 2
    agreed = run("purge", "--all", cwd=workspace, text="y\n")
    assert agreed.stdout.splitlines() == [
        "removed 10 events, 0 turns, 0 pairs, 0 task records",
        "no longer told to the model: Uses pathlib instead of os.path",
    ]
    assert answer("state", cwd=workspace) == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("purge",), "purge of nothing; name --task ID, --event ID, --before TIME or --all"),
        (("purge", "--before", "soon", "--yes"), "duration 'soon' is not understood"),
        (("purge", "--before", "30d", "--json"), "cannot be taken back; say so with --yes"),
        (("state", "--follow", "--json"), "--follow never ends"),
    ],
)
def test_wrong_use_is_said_in_one_line(workspace: Path, arguments: tuple[str, ...], words: str) -> None:
    done = run(*arguments, cwd=workspace)
    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_reader_that_has_seen_enough_is_no_error(workspace: Path) -> None:
    command = f"{sys.executable} -m cipher_nb.cli state --limit 100 | head -c 1"
    done = subprocess.run(["bash", "-c", command], cwd=workspace, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("2", "")
