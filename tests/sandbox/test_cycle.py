"""The whole cycle with a scripted model and a real pytest: what the model hears, and what is left on record."""

from __future__ import annotations

import json

import pytest

from cipher_nb.bus import Bus
from cipher_nb.config import SandboxSettings
from cipher_nb.errors import SandboxError
from cipher_nb.paths import Paths
from cipher_nb.tasks import Tasks
from cipher_nb.testing import ScriptedModel
from cipher_nb.transcripts import Transcripts
from tests.sandbox.conftest import BROKEN

pytestmark = pytest.mark.slow  # every test starts processes

CHECK = "python -m pytest -q"


def body(expression):
    text = f"def add(a, b):\n    return {expression}\n"
    return json.dumps({"intent": "make add add", "edits": [{"op": "write", "path": "calc.py", "text": text}]})


def propose(project, *replies, **settings):
    paths = Paths(project)
    tasks = Tasks(
        paths, settings=SandboxSettings(**settings), bus=Bus(paths.bus), transcripts=Transcripts(paths.transcripts)
    )
    model = ScriptedModel(replies)
    return tasks, model, tasks.propose("make add add", model=model, checks=[CHECK], files=["calc.py"])


def test_the_second_attempt_passes_after_a_feedback_that_names_the_failing_test(project):
    _, model, task = propose(project, body("a * b"), body("a + b"))
    assert model.questions[1] == (
        "Attempt 1 failed: check `python -m pytest -q`: exit code 1\n"
        "test_calc.py::test_add failed at test_calc.py:5\n"
        "  assert add(2, 3) == 5\n"
        "  where 6 = add(2, 3)\n"
        "  expected: 5\n"
        "  found: 6\n"
        "Your change to calc.py:\n"
        "@@ -1,2 +1,2 @@\n"
        " def add(a, b):\n"
        "-    return a - b\n"
        "+    return a * b\n"
        "Send the whole proposal again as one JSON object: all edits, made to the files as they were first shown."
    )
    assert (task.status, task.attempts) == ("verified", 2)
    assert task.diff.endswith(" def add(a, b):\n-    return a - b\n+    return a + b\n")


def test_a_proposal_that_never_passes_leaves_no_diff_and_everything_else_on_record(project):
    replies = [body("a * b"), body("a // b"), body("a ** b")]
    tasks, model, task = propose(project, *replies)
    assert (task.status, task.attempts, task.diff, task.proposal) == ("failed", 3, "", None)
    record = (project / f".aide/tasks/{task.id}.json").read_text()
    bus = Paths(project).bus.read_text()
    for text in (record, bus):
        assert "@@" not in text
        assert "return a" not in text
    gates = [dict(event.fields) for event in reversed(Bus(Paths(project).bus).read_state(type="gate"))]
    assert [(gate["gate"], gate["passed"], gate["attempt"], gate["task"]) for gate in gates] == [
        (CHECK, False, number, task.id) for number in (1, 2, 3)
    ]
    turns = Transcripts(Paths(project).transcripts).read(task=task.id)
    assert [turn.reply for turn in turns] == replies
    assert [turn.messages for turn in turns] == [tuple(asked) for asked in model.asked]
    assert [len(asked) for asked in model.asked] == [1, 3, 1]
    assert "Attempt 1 failed: " in model.questions[2]
    assert "Attempt 2 failed: " in model.questions[2]
    assert (project / "calc.py").read_text() == BROKEN
    with pytest.raises(SandboxError, match="is failed and cannot be approved"):
        tasks.approve(task.id)


def test_a_model_that_goes_round_is_asked_no_third_time_and_the_task_says_so(project):
    _, model, task = propose(project, body("a * b"), body("a * b"), body("a + b"))
    assert (task.status, task.attempts, len(model.asked)) == ("failed", 2, 2)
    assert task.reason == "the model sent the edits of attempt 1 again; say more in the intent, or show it other files"


def test_a_model_cannot_make_the_test_pass_by_changing_it(project):
    edits = [{"op": "write", "path": "test_calc.py", "text": "def test_add():\n    pass\n"}]
    tamper = json.dumps({"intent": "test_calc.py must be changed", "edits": edits})
    _, model, task = propose(project, tamper, body("a + b"), protected=("test_*.py",))
    assert model.questions[1].startswith("Attempt 1 failed: test_calc.py may not be changed")
    assert (task.status, task.attempts, list(task.base_hashes)) == ("verified", 2, ["calc.py"])
