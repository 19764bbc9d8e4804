from __future__ import annotations

import json

import pytest

from cipher_nb.bus import Bus
from cipher_nb.config import SandboxSettings
from cipher_nb.errors import ConflictError, EngineError, NotFoundError, SandboxError, UnsafePathError
from cipher_nb.paths import Paths
from cipher_nb.sandbox.edits import PROPOSAL_SCHEMA
from cipher_nb.tasks import Tasks
from cipher_nb.testing import ScriptedModel
from cipher_nb.transcripts import Transcripts
from tests.sandbox.conftest import BROKEN, git, make_project

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
    assert len(question.encode()) < 3_700
    assert "File big.py (first 2990 of 13000 bytes):" in question
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
    assert all(gate["duration_ms"] > 0 and gate["isolation"] in ("userns", "none") for gate in gates)
    first, last = desk.transcripts.read(task=task.id)
    assert (first.kind, first.attempt, first.reply, first.model, first.adapter) == (
        ("proposal", 1, WRONG, "smollm2-135m", "a1")
    )
    assert [message["role"] for message in first.messages] == ["system", "user"]
    assert (last.attempt, last.reply) == (2, RIGHT)
    assert [message["role"] for message in last.messages] == ["system", "user", "assistant", "user"]
    assert "E       assert 6 == 5" in last.messages[-1]["content"]
    assert said[0] == "attempt 1: asking the model"
    assert said[1] == "copied 5 files"
    assert said[2].startswith("attempt 1: python -m pytest -q failed (")


def test_a_task_that_never_passes_has_no_diff_and_cannot_be_approved(desk):
    task = desk.propose(WRONG, "rubbish", WRONG)
    assert (task.status, task.verified, task.attempts) == ("failed", False, 3)
    assert (task.diff, task.proposal) == ("", None)
    assert len(desk.events("gate")) == 2
    turns = desk.transcripts.read(task=task.id)
    assert [turn.reply for turn in turns] == [WRONG, "rubbish", WRONG]
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


@pytest.mark.parametrize("text", ["rubbish", '{"edits": [{"op": "write", "path": "../x", "text": ""}]}', WRONG])
def test_edits_that_are_no_good_are_a_failed_task_after_one_attempt(desk, text):
    task = desk.tasks.verify(text, checks=[PYTEST])
    assert (task.status, task.attempts) == ("failed", 1)
    assert task.reason


def test_checks_of_the_settings_hold_where_the_call_names_none(tmp_path):
    desk = Desk(make_project(tmp_path / "project"), checks=(PYTEST,))
    task = desk.propose(reply("a + b", checks=["true"]), checks=())
    assert [check["command"] for check in task.checks] == [PYTEST, "true"]


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
