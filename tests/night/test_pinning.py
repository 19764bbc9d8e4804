"""A task of the operator's own, pinned from its events and its transcript."""

from datetime import timedelta

import pytest

from cipher_nb.battery.own import read_own
from cipher_nb.errors import ConfigError, NotFoundError
from cipher_nb.night.pinning import pin_task, unpin_task
from cipher_nb.records import Turn, utc_now
from cipher_nb.workspace import Workspace

KEY = "ghp_" + "a1B2" * 9


@pytest.fixture
def ws(tmp_path):
    return Workspace.init(tmp_path)


def approved(ws, task, *, question="Which command?", reply="git restore", approve=True):
    messages = ({"role": "user", "content": question},)
    ws.transcripts.append(Turn(task, utc_now() - timedelta(seconds=9), task, "chat", messages, reply))
    ws.bus.append("gate", task=task, gate="pytest", passed=True, duration_ms=1)
    if approve:
        ws.bus.append("approval", task=task, tool="chat", pattern="", summary="")


def test_an_approved_task_becomes_a_must_pass_sample(ws):
    approved(ws, "t1")
    assert pin_task(ws.parts, "t1") == pin_task(ws.parts, "t1")
    (found,) = read_own(ws.paths.battery)
    assert (found.user_text, found.target, found.must_pass) == ("Which command?", "git restore", True)
    assert unpin_task(ws.parts, "t1")
    assert read_own(ws.paths.battery) == ()


def test_what_was_not_approved_or_left_no_transcript_is_refused(ws):
    approved(ws, "t1", approve=False)
    with pytest.raises(NotFoundError, match=r"task t1 cannot be pinned: it was not approved; .*cipher-nb approve t1"):
        pin_task(ws.parts, "t1")
    ws.bus.append("gate", task="t2", gate="pytest", passed=True, duration_ms=1)
    ws.bus.append("approval", task="t2", tool="edit", pattern="", summary="")
    with pytest.raises(NotFoundError, match=r"task t2 cannot be pinned: no transcript"):
        pin_task(ws.parts, "t2")
    assert not (ws.paths.battery / "must-pass.jsonl").exists()


def test_a_secret_in_the_question_is_masked_and_one_in_the_target_refused(ws):
    approved(ws, "t1", question=f"Log in with {KEY}.")
    pin_task(ws.parts, "t1")
    assert read_own(ws.paths.battery)[0].user_text == "Log in with <masked:github-token>."
    approved(ws, "t2", reply=f"export T={KEY}")
    with pytest.raises(ConfigError, match="answered with a secret"):
        pin_task(ws.parts, "t2")
    pin_task(ws.parts, "t2", scorer="regex", target="export .*")


def test_a_purge_takes_the_samples_of_the_task_along_and_leaves_the_operators_own(ws):
    approved(ws, "t1")
    approved(ws, "t2", question="Which other?")
    mine = '{"id": "mine", "input": "q", "target": "t"}\n'
    ws.paths.battery.mkdir()
    (ws.paths.battery / "must-pass.jsonl").write_text(mine)
    pin_task(ws.parts, "t1")
    approval = pin_task(ws.parts, "t2")["metadata"]["event_ids"][-1]
    ws.purge(tasks=["t1"])
    assert [sample.user_text for sample in read_own(ws.paths.battery)] == ["q", "Which other?"]
    ws.purge(ids=[approval])
    assert (ws.paths.battery / "must-pass.jsonl").read_text() == mine
