from __future__ import annotations

import json

import pytest

from cipher_nb.config import SandboxSettings
from cipher_nb.errors import SandboxError
from cipher_nb.sandbox.feedback import feedback_for, telling_lines
from cipher_nb.sandbox.loop import verify
from cipher_nb.sandbox.outcome import Attempt, CheckResult
from tests.sandbox.conftest import BROKEN, git

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


def try_out(project, *replies, checks=(PYTEST,), **settings):
    propose = Scripted(*replies)
    sandbox = project / ".aide/sandboxes/t1"
    outcome = verify(propose, root=project, sandbox=sandbox, checks=checks, settings=SandboxSettings(**settings))
    return outcome, propose.heard


def test_the_second_attempt_passes_after_feedback_that_names_the_failing_assertion(project):
    outcome, heard = try_out(project, WRONG, RIGHT)
    assert outcome.verified is True
    assert [attempt.passed for attempt in outcome.attempts] == [False, True]
    assert heard[0] is None
    assert (heard[1].attempt, heard[1].clean_start) == (2, False)
    assert "Attempt 1 failed: check `python -m pytest -q`: exit code 1" in heard[1].text
    assert "E       assert 6 == 5" in heard[1].text
    assert "test_calc.py:5: AssertionError" in heard[1].text
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
    assert "E       assert 6 == 5" in heard[2].text
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
    outcome, _ = try_out(project, RIGHT, checks=(), attempts=1)
    assert outcome.verified is False
    assert "no checks to pass" in outcome.attempts[0].error


def test_the_proposals_checks_come_on_top_of_the_operators(project):
    reply = json.dumps({"checks": ["true"], "edits": json.loads(WRONG)["edits"]})
    outcome, _ = try_out(project, reply, attempts=1)
    assert [(check.command, check.passed) for check in outcome.attempts[0].checks] == [(PYTEST, False), ("true", True)]
    assert outcome.verified is False


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
    outcome, _ = try_out(project, WRONG, checks=(f'python -c "{code}"', PYTEST), attempts=1)
    assert [check.passed for check in outcome.attempts[0].checks] == [True, True]
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
    with pytest.raises(SandboxError, match="could not be made"):
        try_out(project, RIGHT)


def test_feedback_stays_within_its_budget():
    check = CheckResult(
        PYTEST, False, 1, 10, "\n".join(f"E   line {n} " + "x" * 500 for n in range(500)), False, "none"
    )
    attempts = [Attempt(number, None, "", (check, check), False) for number in (1, 2)]
    for clean_start in (False, True):
        assert len(feedback_for(attempts, clean_start=clean_start).text) < 1_400


def test_a_time_limit_is_told_as_one():
    check = CheckResult("sleep 9", False, None, 2_000, "", True, "none")
    text = feedback_for([Attempt(1, None, "", (check,), False)], clean_start=False).text
    assert "check `sleep 9`: ran into the time limit after 2 s" in text


def test_output_without_telling_lines_gives_its_end_without_colours():
    output = "\n".join(f"\x1b[31mline {number}\x1b[0m" for number in range(20))
    assert telling_lines(output) == ["line 14", "line 15", "line 16", "line 17", "line 18", "line 19"]
