from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from cipher_nb.bus import Bus
from cipher_nb.config import SandboxSettings
from cipher_nb.errors import ConflictError, EngineError, NotFoundError, SandboxError, UnsafePathError
from cipher_nb.paths import Paths
from cipher_nb.sandbox.proposal.edits import PROPOSAL_SCHEMA, parse_proposal
from cipher_nb.tasks import Tasks
from cipher_nb.testing import ScriptedModel
from cipher_nb.training.data.pairs import collect
from cipher_nb.transcripts import Transcripts
from tests.sandbox.conftest import BROKEN, git, make_project

pytestmark = pytest.mark.slow  # every test starts processes

PYTEST = "python -m pytest -q"
FIXED = "def add(a, b):\n    return a + b\n"


def reply(replacement, **more):
    edits = [{"op": "replace", "path": "calc.py", "search": "a - b", "replace": replacement}]
    return json.dumps({"intent": "make add add", "edits": edits, **more})


WRONG, RIGHT = reply("a * b"), reply("a + b")


class Desk:
    """A workspace with its tasks, and what they leave on the bus and in the transcripts."""

    def __init__(self, root, **settings):
        self.paths = Paths(root)
        self.bus = Bus(self.paths.bus)
        self.transcripts = Transcripts(self.paths.transcripts)
        self.tasks = Tasks(self.paths, settings=SandboxSettings(**settings), bus=self.bus, transcripts=self.transcripts)

    def propose(self, *replies, **more):
        self.model = ScriptedModel(replies)
        arguments = {"checks": [PYTEST], "files": ["calc.py"], "scaffold": "Be careful.", **more}
        return self.tasks.propose("make add add", model=self.model, **arguments)

    def events(self, type):
        return [dict(event.fields) for event in reversed(self.bus.read_state(type=type))]


@pytest.fixture
def desk(tmp_path):
    return Desk(make_project(tmp_path / "project"))


def test_the_question_holds_scaffold_intent_files_checks_and_form(desk):
    desk.propose(RIGHT)
    system, question = desk.model.asked[0]
    assert system == {"role": "system", "content": "Be careful."}
    assert question["role"] == "user"
    assert question["content"].startswith(f"Task: make add add\nFile calc.py:\n```\n{BROKEN}```\nChecks: {PYTEST}\n")
    assert '{"op": "replace", "path": "...", "search": "text found once", "replace": "..."}' in question["content"]
    assert desk.model.schemas == [PROPOSAL_SCHEMA]


def test_files_are_shown_within_a_budget_and_missing_ones_as_missing(desk):
    (desk.paths.root / "big.py").write_text("line of text\n" * 1000)
    desk.propose(RIGHT, files=["big.py", "calc.py", "new.py"])
    question = desk.model.asked[0][-1]["content"]
    assert len(question.encode()) <= 2_048 * 3.5
    assert "File big.py (lines 1-513 of 1000):" in question
    assert "File new.py: does not exist yet" in question


def test_a_file_outside_is_not_shown(desk):
    with pytest.raises(UnsafePathError, match=r"'\.\./secret' climbs out"):
        desk.propose(RIGHT, files=["../secret"])


def test_a_task_that_passes_at_the_second_attempt_is_on_record_in_full(desk):
    said = []
    task = desk.propose(WRONG, RIGHT, model_name="smollm2-135m", adapter="a1", on_progress=said.append)
    assert (task.status, task.verified, task.attempts, task.reason) == ("verified", True, 2, "")
    assert [(check["attempt"], check["command"], check["passed"]) for check in task.checks] == [
        (1, PYTEST, False),
        (2, PYTEST, True),
    ]
    assert "+    return a + b" in task.diff
    gates = desk.events("gate")
    assert [(gate["gate"], gate["passed"], gate["task"], gate["attempt"]) for gate in gates] == [
        (PYTEST, False, task.id, 1),
        (PYTEST, True, task.id, 2),
    ]
    assert all(gate["duration_ms"] > 0 and gate["isolation"] in ("bubblewrap", "userns", "none") for gate in gates)
    first, last = desk.transcripts.read(task=task.id)
    assert (first.kind, first.attempt, first.reply, first.model, first.adapter) == (
        ("proposal", 1, WRONG, "smollm2-135m", "a1")
    )
    assert [message["role"] for message in first.messages] == ["system", "user"]
    assert (last.attempt, last.reply) == (2, RIGHT)
    assert [message["role"] for message in last.messages] == ["system", "user", "assistant", "user"]
    assert "  expected: 5\n  found: 6" in last.messages[-1]["content"]
    assert said[0] == "attempt 1: asking the model"
    assert said[1] == "copied 5 files"
    assert said[2] == "attempt 1: running python -m pytest -q"
    assert said[3].startswith("attempt 1: python -m pytest -q failed (")


def test_a_task_that_never_passes_has_no_diff_and_cannot_be_approved(desk):
    task = desk.propose(WRONG, "rubbish", reply("a // b"))
    assert (task.status, task.verified, task.attempts) == ("failed", False, 3)
    assert (task.diff, task.proposal) == ("", None)
    assert len(desk.events("gate")) == 2
    turns = desk.transcripts.read(task=task.id)
    assert [turn.reply for turn in turns] == [WRONG, "rubbish", reply("a // b")]
    clean = turns[2].messages
    assert [message["role"] for message in clean] == ["system", "user"]
    assert clean[1]["content"].startswith(turns[0].messages[1]["content"])
    assert "no JSON in 'rubbish'" in clean[1]["content"]
    with pytest.raises(
        SandboxError, match=f"is failed and cannot be approved: check {PYTEST} did not pass in attempt 3"
    ):
        desk.tasks.approve(task.id)
    assert (desk.paths.root / "calc.py").read_text() == BROKEN
    assert desk.events("approval") == []


def test_a_model_that_does_not_answer_is_an_error_on_the_bus_and_leaves_the_attempts(desk):
    with pytest.raises(EngineError):
        desk.propose(WRONG)
    [error] = desk.events("error")
    assert (error["source"], error["message"]) == ("tasks", "the script has 1 answers and was asked once more")
    assert [turn.reply for turn in desk.transcripts.read(task=error["task"])] == [WRONG]


def test_approve_then_ship_ends_in_a_commit_and_each_step_is_one_event(desk):
    root = desk.paths.root
    (root / "other.txt").write_text("not part of it")
    task = desk.propose(RIGHT)
    assert (root / "calc.py").read_text() == BROKEN
    approved = desk.tasks.approve(task.id, pattern="fixes the function, not the test")
    assert (root / "calc.py").read_text() == FIXED
    assert desk.tasks.approve(task.id).status == "approved"
    shipped = desk.tasks.ship(task.id)
    assert desk.tasks.ship(task.id) == shipped
    assert desk.tasks.approve(task.id) == shipped
    assert git(root, "log", "-1", "--format=%H %s").strip() == f"{shipped.commit_sha} make add add"
    assert git(root, "status", "--porcelain").strip() == "?? other.txt"
    assert (approved.pattern, shipped.pattern) == ("fixes the function, not the test",) * 2
    assert desk.events("approval") == [
        {"tool": "edit", "pattern": "fixes the function, not the test", "summary": "make add add", "task": task.id}
    ]
    assert desk.events("ship") == [
        {"commit_sha": shipped.commit_sha, "files_count": 1, "intent": "make add add", "task": task.id}
    ]


def test_a_file_that_changed_meanwhile_is_a_conflict_and_leaves_the_task_open(desk):
    task = desk.propose(RIGHT)
    (desk.paths.root / "calc.py").write_text("# the operator was here\n")
    with pytest.raises(ConflictError, match=r"calc\.py changed since"):
        desk.tasks.approve(task.id)
    assert (desk.paths.root / "calc.py").read_text() == "# the operator was here\n"
    assert desk.tasks.get(task.id).status == "verified"
    assert desk.events("approval") == []


def test_a_rejection_keeps_its_reason_and_closes_the_task(desk):
    task = desk.propose(RIGHT)
    desk.tasks.reject(task.id, reason="too clever", pattern="one-liners")
    rejected = desk.tasks.reject(task.id, reason="again")
    assert (rejected.status, rejected.reason) == ("rejected", "too clever")
    [event] = desk.events("rejection")
    assert (event["summary"], event["pattern"], event["task"]) == ("too clever", "one-liners", task.id)
    with pytest.raises(SandboxError, match="is rejected and cannot be approved: too clever"):
        desk.tasks.approve(task.id)


def test_only_an_approved_task_can_be_shipped_and_an_approved_one_not_rejected(desk):
    task = desk.propose(RIGHT)
    with pytest.raises(SandboxError, match="is verified; only an approved task can be shipped"):
        desk.tasks.ship(task.id)
    desk.tasks.approve(task.id)
    with pytest.raises(SandboxError, match="is approved and cannot be rejected"):
        desk.tasks.reject(task.id, reason="late")


def test_edits_from_a_file_are_tried_once_with_the_same_record(desk):
    task = desk.tasks.verify(f"```json\n{RIGHT}\n```", checks=[PYTEST])
    assert (task.status, task.intent, task.attempts) == ("verified", "make add add", 1)
    [turn] = desk.transcripts.read(task=task.id)
    assert "File calc.py:" in turn.messages[0]["content"]
    assert turn.reply == f"```json\n{RIGHT}\n```"
    desk.tasks.approve(task.id)
    assert (desk.paths.root / "calc.py").read_text() == FIXED


def test_a_link_is_deleted_but_never_shown_or_followed(desk, tmp_path):
    (tmp_path / "secret").write_text("hidden words")
    (desk.paths.root / "link").symlink_to(tmp_path / "secret")
    task = desk.tasks.verify('{"edits": [{"op": "delete", "path": "link"}]}', checks=["true"])
    assert (task.status, task.intent) == ("verified", "change link")
    assert "deleted file mode 120000\n" in task.diff
    [turn] = desk.transcripts.read(task=task.id)
    assert "hidden words" not in turn.messages[0]["content"]
    desk.tasks.approve(task.id)
    assert not (desk.paths.root / "link").is_symlink()
    assert (tmp_path / "secret").read_text() == "hidden words"


@pytest.mark.parametrize("text", ["rubbish", '{"edits": [{"op": "write", "path": "../x", "text": ""}]}', WRONG])
def test_edits_that_are_no_good_are_a_failed_task_after_one_attempt(desk, text):
    task = desk.tasks.verify(text, checks=[PYTEST])
    assert (task.status, task.attempts) == ("failed", 1)
    assert task.reason


def test_checks_of_the_settings_hold_where_the_call_names_none(tmp_path):
    desk = Desk(make_project(tmp_path / "project"), checks=(PYTEST,))
    task = desk.propose(reply("a + b", checks=["true"]), checks=())
    assert [check["command"] for check in task.checks] == [PYTEST, "true"]


def test_where_nobody_names_checks_the_projects_own_hold_and_a_model_cannot_choose_easier_ones(tmp_path):
    desk = Desk(make_project(tmp_path / "project"), attempts=1)
    task = desk.propose(reply("a * b", checks=["true"]), checks=[], files=[])
    assert task.verified is False
    assert task.checks[0]["command"] == PYTEST


def test_a_protected_file_is_changed_only_where_the_operators_own_words_name_it(tmp_path):
    desk = Desk(make_project(tmp_path / "project"), protected=("test_*.py",), attempts=1)
    test = "from calc import add\n\n\ndef test_add():\n    assert add(2, 3) == -1\n"
    cheat = json.dumps(
        {"intent": "change test_calc.py", "edits": [{"op": "write", "path": "test_calc.py", "text": test}]}
    )
    refused = desk.propose(cheat)
    assert refused.verified is False
    assert "test_calc.py may not be changed" in refused.reason
    allowed = desk.tasks.propose("rewrite test_calc.py", model=ScriptedModel([cheat]), checks=[PYTEST])
    assert allowed.verified is True


def test_a_workspace_without_git_can_approve_and_says_why_it_cannot_ship(tmp_path):
    root = tmp_path / "plain"
    root.mkdir()
    (root / "calc.py").write_text(BROKEN)
    desk, said = Desk(root), []
    task = desk.propose(RIGHT, checks=["true"], on_progress=said.append)
    assert "copied 1 files (no git list: everything but .git and .aide)" in said
    desk.tasks.approve(task.id)
    with pytest.raises(SandboxError, match="is no git repository; run git init"):
        desk.tasks.ship(task.id)
    assert desk.tasks.get(task.id).status == "approved"


def test_tasks_are_listed_newest_first_and_read_back_equal(desk):
    tasks = [desk.tasks.verify(RIGHT, checks=["true"]) for _ in range(3)]
    assert [task.id for task in desk.tasks.list()] == [task.id for task in reversed(tasks)]
    assert desk.tasks.get(tasks[0].id) == tasks[0]


@pytest.mark.parametrize("name", ["none", "../../calc", ""])
def test_an_id_that_is_none_is_not_found(desk, name):
    task = desk.tasks.verify(RIGHT, checks=["true"])
    (desk.paths.root / "calc.json").write_text(json.dumps(task.to_json()))
    with pytest.raises(NotFoundError, match="there is no task"):
        desk.tasks.get(name)


def test_undo_takes_an_approval_back_to_the_last_bit_and_off_the_record(desk):
    root = desk.paths.root
    (root / "calc.py").chmod(0o600)
    task = desk.propose(reply("a + b"))
    desk.tasks.approve(task.id, pattern="fixes the function")
    undone = desk.tasks.undo(task.id)
    assert desk.tasks.undo(task.id) == undone == desk.tasks.get(task.id)
    assert (undone.status, undone.reason) == ("undone", "the operator undid its approval")
    assert ((root / "calc.py").read_text(), (root / "calc.py").stat().st_mode & 0o777) == (BROKEN, 0o600)
    assert git(root, "status", "--porcelain") == ""
    [event] = desk.events("rejection")
    assert (event["pattern"], event["summary"], event["task"]) == (
        "fixes the function",
        "undone: make add add",
        task.id,
    )
    assert not any(desk.paths.undo.iterdir())
    for act in (desk.tasks.approve, desk.tasks.ship, lambda name: desk.tasks.reject(name, reason="late")):
        with pytest.raises(SandboxError, match=f"task {task.id} is undone"):
            act(task.id)


def test_what_was_undone_is_not_trained_on(desk):
    tasks = [desk.tasks.verify(edits, checks=["true"]) for edits in (RIGHT, reply("a * b"))]
    undone = desk.tasks.approve(tasks[0].id)
    desk.tasks.undo(undone.id)
    events, turns = desk.bus.read_state(), desk.transcripts.read()
    assert collect(events, turns, since=None).pairs == ()
    assert collect(events, turns, since=None).dropped == ((undone.id, "rejected after its approval"),)
    desk.tasks.approve(tasks[1].id)
    [pair] = collect(desk.bus.read_state(), turns, since=None).pairs
    assert pair.task == tasks[1].id


def test_undo_refuses_by_name_when_a_file_changed_since(desk):
    task = desk.propose(RIGHT)
    desk.tasks.approve(task.id)
    (desk.paths.root / "calc.py").write_text("# the operator was here\n")
    with pytest.raises(ConflictError, match=r"calc\.py changed since task"):
        desk.tasks.undo(task.id)
    assert (desk.paths.root / "calc.py").read_text() == "# the operator was here\n"
    assert desk.tasks.get(task.id).status == "approved"
    assert desk.events("rejection") == []


def test_what_is_shipped_is_not_undone_but_reverted(desk):
    task = desk.propose(RIGHT)
    with pytest.raises(SandboxError, match=f"task {task.id} is verified and cannot be undone"):
        desk.tasks.undo(task.id)
    desk.tasks.approve(task.id)
    with pytest.raises(SandboxError, match=f"cannot be rejected; take it back with: cipher-nb undo {task.id}"):
        desk.tasks.reject(task.id, reason="late")
    sha = desk.tasks.ship(task.id).commit_sha
    with pytest.raises(SandboxError, match=f"is shipped and cannot be undone; take it back with: git revert {sha}"):
        desk.tasks.undo(task.id)
    assert (desk.paths.root / "calc.py").read_text() == FIXED
    assert not any(desk.paths.undo.iterdir())


DYING = """
import os, signal, sys
from pathlib import Path
from tests.test_tasks import Desk

root, task, action, end = Path(sys.argv[1]), *sys.argv[2:]


def die(event, arguments):
    if event == "os.rename" and str(arguments[1]).endswith(end):
        os.kill(os.getpid(), signal.SIGKILL)


tasks = Desk(root).tasks
sys.addaudithook(die)
getattr(tasks, action)(task)
"""


def killed_in_front_of(desk, action, task, end):
    """Let another process be killed in `action`, in front of the rename to a name with this end."""
    command = [sys.executable, "-c", DYING, desk.paths.root, task.id, action, end]
    done = subprocess.run(command, cwd=Path(__file__).parents[1], check=False)
    assert done.returncode == -signal.SIGKILL


@pytest.mark.parametrize("end", ["calc.py", "undo/{}", "tasks/{}.json"])
def test_an_approval_that_was_killed_is_finished_by_the_next(desk, end):
    task = desk.propose(RIGHT)
    killed_in_front_of(desk, "approve", task, end.format(task.id))
    assert [each.status for each in desk.tasks.list()] == ["verified"]
    assert (desk.paths.root / "calc.py").read_text() == FIXED
    assert desk.tasks.approve(task.id, pattern="fixes").status == "approved"
    assert len(desk.events("approval")) == 1
    assert desk.tasks.undo(task.id).status == "undone"
    assert (desk.paths.root / "calc.py").read_text() == BROKEN


def test_an_approval_that_was_killed_can_be_rejected_and_is_taken_back(desk):
    task = desk.propose(RIGHT)
    killed_in_front_of(desk, "approve", task, "calc.py")
    assert desk.tasks.reject(task.id, reason="not after all").status == "rejected"
    assert (desk.paths.root / "calc.py").read_text() == BROKEN
    assert not any(desk.paths.undo.iterdir())


def test_an_approval_that_was_killed_leaves_a_file_changed_since_alone_and_names_it(desk):
    edits = [*json.loads(RIGHT)["edits"], {"op": "delete", "path": "notes.txt"}]
    task = desk.propose(json.dumps({"edits": edits}))
    killed_in_front_of(desk, "approve", task, "calc.py")
    assert not (desk.paths.root / "notes.txt").exists()
    (desk.paths.root / "calc.py").write_text("# the operator was here\n")
    with pytest.raises(ConflictError, match=r"calc\.py changed since the proposal was verified"):
        desk.tasks.approve(task.id)
    assert (desk.paths.root / "calc.py").read_text() == "# the operator was here\n"
    assert (desk.paths.root / "notes.txt").read_text() == "one\n"
    [error] = desk.events("error")
    assert error["message"] == (
        f"the apply of task {task.id} was cut off and taken back, but for calc.py: "
        "changed since by somebody else, and left alone"
    )


@pytest.mark.parametrize("end", ["calc.py", "undo/{}", "tasks/{}.json"])
def test_an_undo_that_was_killed_is_finished_by_the_next(desk, end):
    task = desk.propose(RIGHT)
    desk.tasks.approve(task.id)
    killed_in_front_of(desk, "undo", task, end.format(task.id))
    if end != "tasks/{}.json":
        desk.tasks.list()
    with pytest.raises(SandboxError, match=f"the undo of task {task.id} was cut off; finish it with: cipher-nb undo"):
        desk.tasks.ship(task.id)
    assert desk.tasks.undo(task.id).status == "undone"
    assert (desk.paths.root / "calc.py").read_text() == BROKEN
    assert len(desk.events("rejection")) == 1


def test_a_ship_that_was_killed_after_its_commit_finds_that_commit(desk):
    root = desk.paths.root
    task = desk.propose(RIGHT)
    desk.tasks.approve(task.id)
    killed_in_front_of(desk, "ship", task, f"tasks/{task.id}.json")
    (root / "notes.txt").write_text("two\n")
    git(root, "commit", "--quiet", "--all", "--message=meanwhile")
    shipped = desk.tasks.ship(task.id)
    assert shipped.commit_sha == git(root, "rev-parse", "HEAD~1").strip()
    assert git(root, "log", "--format=%s").split("\n")[:3] == ["meanwhile", "make add add", "start"]
    [event] = desk.events("ship")
    assert (event["commit_sha"], event["files_count"]) == (shipped.commit_sha, 1)


@pytest.mark.slow
@pytest.mark.parametrize("action", ["approve", "ship", "undo"])
def test_four_processes_at_once_do_it_once(desk, action):
    task = desk.propose(RIGHT)
    if action != "approve":
        desk.tasks.approve(task.id)
    code = (
        "import sys; from pathlib import Path; from tests.test_tasks import Desk; "
        "getattr(Desk(Path(sys.argv[1])).tasks, sys.argv[3])(sys.argv[2])"
    )
    command = [sys.executable, "-c", code, desk.paths.root, task.id, action]
    processes = [subprocess.Popen(command, cwd=Path(__file__).parents[1]) for _ in range(4)]
    assert [process.wait() for process in processes] == [0, 0, 0, 0]
    kind = {"approve": "approval", "ship": "ship", "undo": "rejection"}[action]
    assert len(desk.events(kind)) == 1
    assert (desk.paths.root / "calc.py").read_text() == (BROKEN if action == "undo" else FIXED)


def test_old_scratch_copies_go_after_a_task(tmp_path):
    desk = Desk(make_project(tmp_path / "project"), keep_mb=0)
    tasks = [desk.tasks.verify(RIGHT, checks=["true"]) for _ in range(3)]
    assert [path.name for path in desk.paths.sandboxes.iterdir() if path.name.isalnum() and path.name != "current"] == (
        [tasks[-1].id]
    )


@pytest.mark.slow
@pytest.mark.model
@pytest.mark.parametrize(
    "edit",
    [
        {"op": "mode", "path": "run.sh", "mode": "755"},
        {"op": "patch", "path": "calc.py", "diff": "@@ -1 +1 @@\n-a\n+b\n"},
        {"op": "cell", "path": "n.ipynb", "cell": "c0de", "source": "x = 1"},
    ],
    ids=lambda edit: edit["op"],
)
def test_the_engines_grammar_takes_every_op(embedded_client, edit):
    example = json.dumps({"intent": "as told", "edits": [edit]})
    question = {"role": "user", "content": f"Repeat: {example}"}
    messages = [question, {"role": "assistant", "content": example}, question]
    reply = embedded_client.chat(messages, max_tokens=200, schema=PROPOSAL_SCHEMA)
    assert parse_proposal(reply.text).to_json()["edits"] == [edit]
