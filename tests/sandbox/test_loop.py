from __future__ import annotations

import json

import pytest

from cipher_nb.config import SandboxSettings
from cipher_nb.errors import SandboxError
from cipher_nb.sandbox.loop import verify
from tests.sandbox.conftest import BROKEN, git

pytestmark = pytest.mark.slow  # every test starts processes

PYTEST = "python -m pytest -q"
WRONG = json.dumps(
    {"intent": "fix", "edits": [{"op": "replace", "path": "calc.py", "search": "a - b", "replace": "a * b"}]}
)
RIGHT = json.dumps(
    {"intent": "fix", "edits": [{"op": "replace", "path": "calc.py", "search": "a - b", "replace": "a + b"}]}
)


class Scripted:
    """Gives its replies in turn and keeps the feedback it was given."""

    def __init__(self, *replies):
        self.replies, self.heard = list(replies), []

    def __call__(self, feedback):
        self.heard.append(feedback)
        return self.replies[len(self.heard) - 1]


LISTENERS = ("on_check", "on_copy", "intent")


def try_out(project, *replies, checks=(PYTEST,), **more):
    propose = Scripted(*replies)
    own = {name: more.pop(name) for name in LISTENERS if name in more}
    sandbox = project / ".aide/sandboxes/t1"
    outcome = verify(propose, root=project, sandbox=sandbox, checks=checks, settings=SandboxSettings(**more), **own)
    return outcome, propose.heard


def with_checks(reply, *checks):
    return json.dumps(json.loads(reply) | {"checks": list(checks)})


def test_the_second_attempt_passes_after_feedback_that_names_the_failing_assertion(project):
    outcome, heard = try_out(project, WRONG, RIGHT)
    assert outcome.verified is True
    assert [attempt.passed for attempt in outcome.attempts] == [False, True]
    assert heard[0] is None
    assert (heard[1].attempt, heard[1].clean_start) == (2, False)
    assert "Attempt 1 failed: check `python -m pytest -q`: exit code 1" in heard[1].text
    assert "test_calc.py::test_add failed at test_calc.py:5\n" in heard[1].text
    assert "  expected: 5\n  found: 6\n" in heard[1].text
    assert "Send the whole proposal again" in heard[1].text
    assert "-    return a - b\n+    return a + b\n" in outcome.diff


def test_the_real_tree_is_never_written(project):
    try_out(project, WRONG, RIGHT)
    assert (project / "calc.py").read_text() == BROKEN
    assert git(project, "status", "--porcelain") == ""


def test_base_hashes_are_those_of_the_real_files(project):
    reply = json.dumps({"edits": [{"op": "rename", "path": "notes.txt", "to": "notes.md"}]})
    outcome, _ = try_out(project, reply, checks=("true",))
    assert outcome.base_hashes == {
        "notes.txt": "2c8b08da5ce60398e1f19af0e5dccc744df274b826abe585eaba68c525434806",
        "notes.md": "",
    }


def test_three_failures_are_the_end_and_the_last_one_started_clean(project):
    outcome, heard = try_out(project, WRONG, "no idea", WRONG, RIGHT, attempts=9)
    assert (outcome.verified, outcome.diff, outcome.base_hashes) == (False, "", {})
    assert [attempt.number for attempt in outcome.attempts] == [1, 2, 3]
    assert [feedback.clean_start for feedback in heard[1:]] == [False, True]
    assert "  expected: 5\n  found: 6\n" in heard[2].text
    assert "no JSON in 'no idea'" in heard[2].text


def test_a_reply_that_is_no_proposal_is_a_failed_attempt(project):
    outcome, heard = try_out(project, "sorry", RIGHT)
    assert outcome.attempts[0].proposal is None
    assert outcome.attempts[0].checks == ()
    assert "no JSON in 'sorry'" in heard[1].text
    assert outcome.verified is True


@pytest.mark.parametrize("path", ["../x.py", "/etc/x", ".git/config", ".aide/cipher.toml"])
def test_an_escape_is_a_failed_attempt_that_names_the_path(project, path):
    outcome, _ = try_out(project, json.dumps({"edits": [{"op": "write", "path": path, "text": ""}]}), attempts=1)
    assert outcome.verified is False
    assert repr(path) in outcome.attempts[0].error


def test_without_any_check_nothing_is_verified(project):
    for name in ("test_calc.py", "pytest.ini"):
        (project / name).unlink()
    outcome, _ = try_out(project, RIGHT, with_checks(RIGHT, "true"), checks=(), attempts=2)
    assert "no checks to pass" in outcome.attempts[0].error
    assert outcome.verified is True  # the same edits with a check are another proposal


def test_where_nobody_names_a_check_those_of_the_project_judge(project):
    outcome, _ = try_out(project, WRONG, RIGHT, checks=())
    assert [[check.command for check in attempt.checks] for attempt in outcome.attempts] == [[PYTEST], [PYTEST]]
    assert [attempt.passed for attempt in outcome.attempts] == [False, True]


def test_the_proposals_checks_come_on_top_of_the_operators(project):
    outcome, _ = try_out(project, with_checks(RIGHT, "true"), attempts=1)
    assert [(check.command, check.passed) for check in outcome.attempts[0].checks] == [(PYTEST, True), ("true", True)]
    outcome, _ = try_out(project, with_checks(RIGHT, "false"), attempts=1)
    assert outcome.verified is False


def test_cheap_checks_run_first_and_nothing_runs_behind_a_group_that_failed(project):
    lint = "ruff check --isolated --select F"
    heard = []
    reply = json.dumps({"edits": [{"op": "write", "path": "calc.py", "text": "import os\nimport re\n"}]})
    outcome, _ = try_out(
        project,
        reply,
        checks=(PYTEST, f"{lint} calc.py", f"{lint} test_calc.py"),
        attempts=1,
        on_check=lambda number, result: heard.append((number, result.command, result.passed)),
    )
    assert heard == [(1, f"{lint} calc.py", False), (1, f"{lint} test_calc.py", True)]
    assert [check.command for check in outcome.attempts[0].checks] == [f"{lint} calc.py", f"{lint} test_calc.py"]


PROTECTED = ("test_*.py", ".github/**")
TAMPER = json.dumps(
    {
        "intent": "change test_calc.py",
        "edits": [{"op": "write", "path": "test_calc.py", "text": "def test_x(): pass\n"}],
    }
)


@pytest.mark.parametrize(
    "edits",
    [
        [{"op": "write", "path": "test_calc.py", "text": ""}],
        [{"op": "replace", "path": "test_calc.py", "search": "== 5", "replace": "== 6"}],
        [{"op": "delete", "path": "test_calc.py"}],
        [{"op": "rename", "path": "test_calc.py", "to": "old.py"}],
        [{"op": "rename", "path": "calc.py", "to": "test_new.py"}],
        [{"op": "write", "path": ".github/workflows/ci.yml", "text": "on: push\n"}],
    ],
)
def test_an_edit_of_a_protected_file_is_a_failed_attempt_that_names_it(project, edits):
    outcome, heard = try_out(project, json.dumps({"edits": edits}), RIGHT, protected=PROTECTED)
    named = edits[0].get("to", edits[0]["path"]) if edits[0]["path"] == "calc.py" else edits[0]["path"]
    assert outcome.attempts[0].checks == ()
    assert heard[1].text.startswith(
        f"Attempt 1 failed: {named} may not be changed: the change is judged by it ([sandbox] protected); "
        "leave it as it is and send edits to the other files\n"
    )
    assert outcome.verified is True


def test_only_the_operators_intent_opens_a_protected_file(project):
    for intent, verified in (("make add add", False), ("change test_calc.py to test nothing", True)):
        outcome, _ = try_out(project, TAMPER, protected=PROTECTED, attempts=1, intent=intent)
        assert outcome.verified is verified


@pytest.mark.parametrize(
    "again",
    [
        WRONG,
        json.dumps(json.loads(WRONG) | {"intent": "fix it better"}, indent=2),
        json.dumps({"edits": [{"op": "write", "path": "calc.py", "text": "def add(a, b):\n    return a * b\n"}]}),
    ],
)
def test_a_model_that_sends_the_same_edit_again_ends_the_loop(project, again):
    outcome, heard = try_out(project, WRONG, again, RIGHT)
    assert (outcome.verified, len(heard)) == (False, 2)
    assert outcome.attempts[1].checks == ()
    assert outcome.attempts[1].error == (
        "the model sent the edits of attempt 1 again; say more in the intent, or show it other files"
    )


@pytest.mark.parametrize(
    ("first", "again", "what"),
    [
        ("I cannot do that.", "I  cannot\ndo that.", "reply"),
        (
            '{"edits": [{"op": "delete", "path": "none.py"}]}',
            '{"intent": "x", "edits": [{"op": "delete", "path": "./none.py"}]}',
            "edits",
        ),
        ('{"edits": [{"op": "delete", "path": "../x"}]}', '{"edits":[{"op":"delete","path":"../x"}]}', "edits"),
    ],
)
def test_a_model_that_repeats_what_cannot_be_tried_ends_the_loop(project, first, again, what):
    outcome, heard = try_out(project, first, again, RIGHT)
    assert len(heard) == 2
    assert outcome.attempts[1].error.startswith(f"the model sent the {what} of attempt 1 again")


def test_the_same_edit_after_another_one_is_seen_as_well(project):
    outcome, heard = try_out(project, WRONG, "no idea", WRONG)
    assert len(heard) == 3
    assert (outcome.attempts[2].error[:42], outcome.attempts[2].checks) == (
        "the model sent the edits of attempt 1 agai",
        (),
    )


def test_a_listener_that_raises_does_not_cost_the_attempt(project):
    def broken(*what):
        raise BrokenPipeError("nobody listens")

    with pytest.warns(UserWarning, match="BrokenPipeError.*the attempt goes on"):
        outcome, _ = try_out(project, RIGHT, on_check=broken, on_copy=broken)
    assert outcome.verified is True


def test_what_was_tried_is_kept_with_the_attempt_but_never_in_a_failed_outcome(project):
    outcome, _ = try_out(project, WRONG, attempts=1)
    assert "+    return a * b\n" in outcome.attempts[0].diff
    assert (outcome.verified, outcome.diff) == (False, "")


def test_edits_that_change_nothing_are_not_verified(project):
    outcome, _ = try_out(
        project,
        json.dumps({"edits": [{"op": "write", "path": "notes.txt", "text": "one\n"}]}),
        attempts=1,
        checks=("true",),
    )
    assert "the edits change nothing" in outcome.attempts[0].error


def test_a_check_that_rewrites_an_edited_file_is_not_believed(project):
    code = "from pathlib import Path; Path('calc.py').write_text('def add(a, b): return 5')"
    outcome, _ = try_out(project, WRONG, checks=(f'python -c "{code}"',), attempts=1)
    assert [check.passed for check in outcome.attempts[0].checks] == [True]
    assert outcome.verified is False
    assert "the checks rewrote calc.py" in outcome.attempts[0].error


def test_every_attempt_starts_from_a_fresh_copy(project):
    first = json.dumps({"edits": [{"op": "write", "path": "left.py", "text": "x = 1\n"}]})
    outcome, _ = try_out(
        project, first, RIGHT, checks=("python -c \"import os; assert not os.path.exists('left.py')\"",)
    )
    assert [attempt.passed for attempt in outcome.attempts] == [False, True]


def test_a_copy_that_cannot_be_made_is_an_error_and_not_an_attempt(project):
    (project / ".aide").write_text("a file where the folder should be")
    with pytest.raises(SandboxError, match="cannot be made"):
        try_out(project, RIGHT)
