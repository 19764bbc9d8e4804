"""The post-commit hook, in real repositories, run by real `git commit`."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from cipher_nb.bus import Bus
from cipher_nb.commits import install_hook, record_commit
from cipher_nb.errors import ConfigError
from cipher_nb.sandbox import ship
from cipher_nb.testing import ScriptedModel
from cipher_nb.workspace import Workspace
from tests.sandbox.conftest import git

pytestmark = pytest.mark.slow  # every test starts processes

PROGRAM = (sys.executable, "-P", "-m", "cipher_nb.cli")
SECONDS_TO_RECORD = 60.0


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "my project")


def make_repository(root: Path) -> Path:
    root.mkdir(parents=True)
    git(root, "init", "--quiet", "--initial-branch=main")
    git(root, "config", "user.name", "Operator")
    git(root, "config", "user.email", "operator@example.org")
    Workspace.init(root)
    return root


def commit(root: Path, message: str, *, file: str = "notes.txt", body: str = "") -> str:
    with (root / file).open("a") as notes:
        notes.write(f"{message}\n")
    git(root, "add", file)
    git(root, "commit", "--quiet", f"--message={message}", *([f"--message={body}"] if body else []))
    return head(root)


def head(root: Path) -> str:
    return git(root, "rev-parse", "HEAD").strip()


def bus_of(root: Path) -> Bus:
    return Bus(root / ".aide/cipher-state.jsonl")


def events(root: Path, type: str | None = None) -> list[dict[str, object]]:
    """Return the fields of the events on the bus, oldest first."""
    return [{"type": event.type, **event.fields} for event in reversed(bus_of(root).read_state(type=type))]


def recorded(root: Path, count: int) -> list[dict[str, object]]:
    """Wait until the hooks have written `count` events and none is at work any more, and return the events."""
    deadline = time.monotonic() + SECONDS_TO_RECORD
    while (len(events(root)) < count or recorders(root.parent)) and time.monotonic() < deadline:
        time.sleep(0.05)
    return events(root)


def recorders(folder: Path) -> list[int]:
    """Return the processes that record commits of repositories in `folder`."""
    found = []
    for process in psutil.process_iter(["pid", "cmdline", "cwd"]):
        at_work = Path(process.info["cwd"] or "/").is_relative_to(folder)
        if at_work and "record-commit" in (process.info["cmdline"] or ()):
            found.append(process.info["pid"])
    return found


def record(root: Path, sha: str = "HEAD") -> tuple[str, ...]:
    return record_commit(root, workspace=root, bus=bus_of(root), sha=sha).events


def script(path: Path, text: str, mode: int = 0o755) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)
    return path


def test_a_commit_is_recorded_as_a_ship(repository: Path) -> None:
    hook = install_hook(repository, program=PROGRAM)
    assert hook == repository / ".git/hooks/post-commit"
    assert stat.S_IMODE(hook.stat().st_mode) == 0o755
    (repository / "a.txt").write_text("a")
    git(repository, "add", "a.txt")
    sha = commit(repository, "Teach the list command JSON", body="In detail.")
    assert recorded(repository, 1) == [
        {"type": "ship", "commit_sha": sha, "files_count": 2, "intent": "Teach the list command JSON"}
    ]


def test_installing_twice_changes_nothing(repository: Path) -> None:
    operators = script(repository / ".git/hooks/post-commit", "#!/bin/sh\n")
    before = operators.read_text()
    first = install_hook(repository, program=PROGRAM)
    state = (
        first.read_text(),
        first.stat().st_mtime_ns,
        sorted(path.name for path in first.parent.glob("post-commit*")),
    )
    assert install_hook(repository, program=PROGRAM) == first
    assert state == (first.read_text(), first.stat().st_mtime_ns, ["post-commit", "post-commit.before-cipher-nb"])
    assert (first.parent / "post-commit.before-cipher-nb").read_text() == before


PYTHON_HOOK = """\
#!{python}
import os, sys
of_git, of_the_shell = "GIT_INDEX_FILE" in os.environ, os.environ.get("FROM_THE_SHELL")
with open("hook.log", "a") as log:
    print(os.path.dirname(sys.argv[0]), sys.argv[1:], of_the_shell, of_git, file=log)
print("said by the hook", flush=True)
sys.exit(3)
"""


def test_an_operators_hook_runs_first_as_before_and_its_exit_code_counts(repository: Path) -> None:
    script(repository / ".git/hooks/post-commit", PYTHON_HOOK.format(python=sys.executable))
    environment = {**os.environ, "FROM_THE_SHELL": "yes"}

    def run(hook: str, *arguments: str) -> tuple[int, str]:
        done = subprocess.run([hook, *arguments], cwd=repository, env=environment, capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr

    alone = run(".git/hooks/post-commit", "one", "two words")
    install_hook(repository, program=PROGRAM)
    (repository / "notes.txt").write_text("x")
    git(repository, "add", "notes.txt")
    made = subprocess.run(["git", "commit", "-m", "x"], cwd=repository, env=environment, capture_output=True, text=True)
    assert run(".git/hooks/post-commit", "one", "two words") == alone == (3, "said by the hook\n")
    first, by_git, last = (repository / "hook.log").read_text().splitlines()
    assert first == last == ".git/hooks ['one', 'two words'] yes False"
    assert by_git == ".git/hooks [] yes True"
    assert made.returncode == 0
    assert "said by the hook" in made.stdout + made.stderr
    assert [event["intent"] for event in recorded(repository, 1)] == ["x"]


@pytest.mark.parametrize("kind", ["switched off", "linked", "without a first line"])
def test_hooks_of_other_kinds_stay_what_they_are(repository: Path, kind: str) -> None:
    text = "#!/bin/sh\necho ran >> hook.log\n"
    hook = repository / ".git/hooks/post-commit"
    if kind == "linked":
        script(repository / "tools/hook.sh", text)
        hook.symlink_to("../../tools/hook.sh")
    else:
        script(
            hook,
            text if kind == "switched off" else "echo ran >> hook.log\n",
            0o644 if kind == "switched off" else 0o755,
        )
    install_hook(repository, program=PROGRAM)
    commit(repository, "one")
    assert (repository / "hook.log").exists() == (kind != "switched off")
    assert len(recorded(repository, 1)) == 1
    kept = repository / ".git/hooks/post-commit.before-cipher-nb"
    assert kept.is_symlink() == (kind == "linked")
    assert os.access(kept, os.X_OK) == (kind != "switched off")


def test_a_hook_of_another_installer_is_never_overwritten(repository: Path) -> None:
    hook = install_hook(repository, program=PROGRAM)
    kept = script(hook.parent / "post-commit.before-cipher-nb", "#!/bin/sh\n# mine\n")
    script(hook, "#!/bin/sh\n# another's\n")
    with pytest.raises(ConfigError, match="are both there; make them one, or add to yours: cipher-nb record-commit"):
        install_hook(repository, program=PROGRAM)
    assert (hook.read_text(), kept.read_text()) == ("#!/bin/sh\n# another's\n", "#!/bin/sh\n# mine\n")


def test_a_commit_neither_waits_nor_hears_of_a_broken_program(repository: Path, tmp_path: Path) -> None:
    waits = "until [ -e go ]; do sleep 0.1; done"
    slow = script(tmp_path / "slow", f"#!/bin/sh\necho out; echo err >&2; {waits}; echo done > slow.log\n")
    install_hook(repository, program=(str(slow),))
    (repository / "notes.txt").write_text("x")
    git(repository, "add", "notes.txt")
    commit = ["git", "commit", "-qm", "x"]
    made = subprocess.run(commit, cwd=repository, capture_output=True, text=True, timeout=60, check=True)
    assert (made.stdout, made.stderr) == ("", "")
    assert not (repository / "slow.log").exists()
    (repository / "go").touch()
    deadline = time.monotonic() + SECONDS_TO_RECORD
    while not (repository / "slow.log").exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.parametrize("left", ["no program", "no workspace"])
def test_a_commit_is_made_in_silence_when_the_program_or_the_workspace_is_gone(repository: Path, left: str) -> None:
    install_hook(repository, program=("/gone/venv/bin/python",) if left == "no program" else PROGRAM)
    if left == "no workspace":
        (repository / ".aide").rename(repository / "moved")
    (repository / "notes.txt").write_text("x")
    git(repository, "add", "notes.txt")
    made = subprocess.run(["git", "commit", "-qm", "x"], cwd=repository, capture_output=True, text=True)
    assert (made.returncode, made.stdout, made.stderr) == (0, "", "")


def test_a_module_in_the_work_tree_is_not_run(repository: Path) -> None:
    install_hook(repository, program=PROGRAM)
    (repository / "click.py").write_text("open('ran.log', 'w')\n")
    commit(repository, "one")
    assert len(recorded(repository, 1)) == 1
    assert not (repository / "ran.log").exists()


def test_a_worktree_records_in_its_own_workspace_and_else_in_the_one_the_hook_is_for(
    repository: Path, tmp_path: Path
) -> None:
    commit(repository, "start")
    install_hook(repository, program=PROGRAM)
    for name in ("own", "bare"):
        git(repository, "worktree", "add", "--quiet", str(tmp_path / name))
    Workspace.init(tmp_path / "own")
    commit(tmp_path / "own", "in a workspace")
    commit(tmp_path / "bare", "without one")
    assert [event["intent"] for event in recorded(tmp_path / "own", 1)] == ["in a workspace"]
    assert [event["intent"] for event in recorded(repository, 1)] == ["without one"]


def test_a_workspace_below_the_top_is_found(repository: Path) -> None:
    part = repository / "part"
    Workspace.init(part)
    install_hook(part, program=PROGRAM)
    commit(repository, "one")
    assert [event["intent"] for event in recorded(part, 1)] == ["one"]
    assert events(repository) == []


def test_hooks_kept_elsewhere_are_honoured_and_other_repositories_left_alone(repository: Path, tmp_path: Path) -> None:
    shared = tmp_path / "shared hooks"
    git(repository, "config", "core.hooksPath", str(shared))
    assert install_hook(repository, program=PROGRAM) == shared / "post-commit"
    other = make_repository(tmp_path / "other")
    (other / ".aide").rename(other / "moved")
    git(other, "config", "core.hooksPath", str(shared))
    commit(other, "of the other")
    commit(repository, "of this one")
    assert [event["intent"] for event in recorded(repository, 1)] == ["of this one"]


@pytest.mark.parametrize("path", [".husky/_", "tools/hooks"])
def test_hooks_that_are_files_of_the_work_tree_are_left_to_the_operator(repository: Path, path: str) -> None:
    git(repository, "config", "core.hooksPath", path)
    own = script(repository / path / "post-commit", "#!/bin/sh\n# ours, all of us\n")
    with pytest.raises(ConfigError) as refused:
        install_hook(repository, program=PROGRAM)
    assert str(refused.value) == (
        f"core.hooksPath = {path} is part of a work tree; add to your post-commit there the line: "
        'cipher-nb record-commit "$(git rev-parse HEAD)" >/dev/null 2>&1 &'
    )
    assert own.read_text() == "#!/bin/sh\n# ours, all of us\n"


def test_without_a_repository_the_way_out_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="run git init there, and then again: cipher-nb init --git-hook"):
        install_hook(tmp_path, program=PROGRAM)


def test_the_same_commit_is_recorded_once(repository: Path) -> None:
    sha = commit(repository, "one")
    assert record(repository) == ("ship",)
    again = record_commit(repository, workspace=repository, bus=bus_of(repository), sha=sha[:10])
    assert (again.commit_sha, again.events, again.reason) == (sha, (), "it is on the bus already")
    assert len(events(repository)) == 1


def test_what_is_no_commit_here_is_not_recorded(repository: Path, tmp_path: Path) -> None:
    other = make_repository(tmp_path / "other")
    sha = commit(other, "elsewhere")
    for tree, name in ((repository, sha), (other, sha), (repository, "--output=x"), (repository, "HEAD")):
        assert record_commit(tree, workspace=repository, bus=bus_of(repository), sha=name).events == ()
    assert events(repository) == []


def test_replayed_commits_are_not_recorded(repository: Path) -> None:
    commit(repository, "start")
    git(repository, "checkout", "--quiet", "-b", "side")
    commit(repository, "on the side", file="side.txt")
    commit(repository, "more on the side", file="side.txt")
    git(repository, "checkout", "--quiet", "main")
    commit(repository, "meanwhile")
    install_hook(repository, program=PROGRAM)
    git(repository, "cherry-pick", "side~1")
    assert record(repository) == ()
    git(repository, "checkout", "--quiet", "side")
    git(repository, "rebase", "--quiet", "main")
    assert record(repository) == ()
    commit(repository, "rebase: a word in a subject is no rebase")
    assert [event["intent"] for event in recorded(repository, 1)] == ["rebase: a word in a subject is no rebase"]


def test_a_commit_that_a_rebase_left_alone_is_recorded(repository: Path) -> None:
    commit(repository, "start")
    commit(repository, "two")
    git(repository, "-c", "sequence.editor=true", "rebase", "--quiet", "--interactive", "HEAD~1")
    assert record(repository) == ("ship",)


def test_a_commit_by_hand_amid_a_rebase_is_not_recorded(repository: Path) -> None:
    commit(repository, "start")
    commit(repository, "two")
    install_hook(repository, program=PROGRAM)
    git(repository, "-c", "sequence.editor=sed -i s/pick/edit/", "rebase", "--quiet", "--interactive", "HEAD~1")
    commit(repository, "by hand")
    git(repository, "rebase", "--continue")
    commit(repository, "after it")
    assert [event["intent"] for event in recorded(repository, 1)] == ["after it"]


FIX = '{"intent": "fix add", "edits": [{"op": "replace", "path": "calc.py", "search": "a - b", "replace": "a + b"}]}'


def shipped_task(root: Path) -> tuple[str, str]:
    """Ship a verified change; return its task and its commit."""
    ws = Workspace.open(root)
    (root / "calc.py").write_text("def add(a, b):\n    return a - b\n")
    git(root, "add", "calc.py")
    git(root, "commit", "--quiet", "--message=wrong")
    task = ws.tasks.propose("fix add", model=ScriptedModel([FIX]), checks=["python -c ''"])
    ws.tasks.approve(task.id, pattern="fixes what a test shows")
    return task.id, ws.tasks.ship(task.id).commit_sha


def test_a_commit_that_its_maker_records_is_not_recorded_by_the_hook(repository: Path) -> None:
    install_hook(repository, program=PROGRAM)
    (repository / "notes.txt").write_text("shipped")
    ship.commit(repository, ["notes.txt"], message="shipped by a task")
    commit(repository, "by hand")
    assert [event["intent"] for event in recorded(repository, 1)] == ["by hand"]


def test_what_cipher_nb_ships_is_on_the_bus_once_and_with_its_task(repository: Path) -> None:
    install_hook(repository, program=PROGRAM)
    task, sha = shipped_task(repository)
    commit(repository, "and so on")
    recorded(repository, 5)
    ships = [(event["commit_sha"], event.get("task")) for event in events(repository, "ship")]
    assert [found for found in ships if found[0] == sha] == [(sha, task)]


def test_a_revert_is_a_rejection_of_what_it_reverts_and_its_revert_an_approval(repository: Path) -> None:
    task, sha = shipped_task(repository)
    git(repository, "revert", "--no-edit", sha)
    first = head(repository)
    assert record(repository) == ("ship", "rejection")
    git(repository, "revert", "--no-edit", first)
    second = head(repository)
    assert record(repository) == ("ship", "approval")
    git(repository, "revert", "--no-edit", second)
    assert record(repository) == ("ship", "rejection")
    votes = [event for event in events(repository) if event.get("tool") == "git"]
    shared = {"tool": "git", "pattern": "fixes what a test shows", "task": task}
    assert votes == [
        {"type": "rejection", "summary": 'Revert "fix add"', "reverts": sha, **shared},
        {
            "type": "approval",
            "summary": git(repository, "log", "-1", "--format=%s", second).strip(),
            "reverts": first,
            **shared,
        },
        {
            "type": "rejection",
            "summary": git(repository, "log", "-1", "--format=%s").strip(),
            "reverts": second,
            **shared,
        },
    ]


def test_an_installed_hook_records_a_revert(repository: Path) -> None:
    task, sha = shipped_task(repository)
    install_hook(repository, program=PROGRAM)
    git(repository, "revert", "--no-edit", sha)
    newest = recorded(repository, 5)[-1]
    assert (newest["type"], newest["task"], newest["reverts"]) == ("rejection", task, sha)


def test_several_reverts_in_one_message_abbreviated_too(repository: Path) -> None:
    shas = [commit(repository, name) for name in ("one", "two", "three")]
    for sha in shas[:2]:
        record(repository, sha)
    body = (
        f"This reverts commits {shas[0][:8]} and {shas[1][:12]}.\n\n"
        f"This reverts commit {shas[2]}, reversing\nchanges made to {shas[0]}."
    )
    commit(repository, "Back to the start", body=body)
    assert record(repository) == ("ship", "rejection", "rejection", "rejection")
    rejections = events(repository, "rejection")
    assert [event["reverts"] for event in rejections] == shas
    assert {(event["pattern"], event["summary"], event.get("task")) for event in rejections} == {
        ("", "Back to the start", None)
    }


def test_the_revert_of_a_commit_that_nobody_knows_is_recorded_without_a_pattern(repository: Path) -> None:
    commit(repository, "Undo", body="This reverts commit 0123456789abcdef0123456789abcdef01234567.")
    assert record(repository) == ("ship", "rejection")
    assert events(repository, "rejection") == [
        {
            "type": "rejection",
            "tool": "git",
            "pattern": "",
            "summary": "Undo",
            "reverts": "0123456789abcdef0123456789abcdef01234567",
        }
    ]


def cipher_nb(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*PROGRAM, *arguments], cwd=cwd, capture_output=True, text=True, check=False)


def test_init_installs_the_hook_when_asked_to(tmp_path: Path) -> None:
    root = tmp_path / "new"
    root.mkdir()
    refused = cipher_nb("init", "--git-hook", cwd=root)
    assert refused.returncode == 2
    assert "run git init there, and then again: cipher-nb init --git-hook" in refused.stderr
    git(root, "init", "--quiet")
    done = cipher_nb("init", "--git-hook", "--json", cwd=root)
    assert json.loads(done.stdout)["git_hook"] == str(root / ".git/hooks/post-commit")


def test_record_commit_says_what_it_wrote_or_why_nothing(repository: Path) -> None:
    sha = commit(repository, "one")
    first, second = (json.loads(cipher_nb("record-commit", "--json", cwd=repository).stdout) for _ in range(2))
    assert first == {"commit_sha": sha, "events": ["ship"], "reason": ""}
    assert second == {"commit_sha": sha, "events": [], "reason": "it is on the bus already"}
