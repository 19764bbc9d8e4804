from datetime import UTC, datetime, timedelta

import pytest

from cipher_nb.records import Event, Turn
from cipher_nb.training.pairs import Pair, PairStore, collect

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
SYSTEM = {"role": "system", "content": "Be brief."}


def at(minute):
    return NOON + timedelta(minutes=minute)


def event(type_, minute, task="t1", **fields):
    extra = {"task": task} if task else {}
    return Event(type_, at(minute), f"{type_}-{minute}", {**extra, **fields})


def turn(minute, reply, *, question="rename x", kind="proposal", attempt=1, task="t1", finish="stop"):
    messages = (SYSTEM, {"role": "user", "content": question})
    return Turn(f"turn-{minute}", at(minute), task, kind, messages, reply, attempt=attempt, finish=finish)


def test_an_approved_task_pairs_its_first_question_with_its_verified_answer():
    events = [
        event("gate", 1, gate="pytest", passed=False),
        event("gate", 3, gate="pytest", passed=True),
        event("approval", 4, tool="edit", pattern="", summary=""),
        event("ship", 5, commit_sha="abc", files_count=1, intent=""),
    ]
    turns = [turn(0, "wrong"), turn(2, "right", question="rename x\nit failed", attempt=2)]
    collected = collect(events, turns, since=None)
    assert collected.dropped == ()
    (pair,) = collected.pairs
    assert pair.messages == (SYSTEM, {"role": "user", "content": "rename x"})
    assert (pair.response, pair.task, pair.source) == ("right", "t1", "approved")
    assert pair.event_ids == ("gate-3", "approval-4", "ship-5")


@pytest.mark.parametrize(("finish", "finished"), [("stop", True), ("length", False), ("aborted", False)])
def test_an_answer_that_was_cut_off_does_not_teach_where_to_end(finish, finished):
    events = [event("gate", 1, gate="pytest", passed=True), event("approval", 2, tool="chat", pattern="", summary="")]
    (pair,) = collect(events, [turn(0, "right", kind="chat", finish=finish)], since=None).pairs
    assert pair.finished is finished


@pytest.mark.parametrize(
    ("events", "turns", "reason"),
    [
        ([event("approval", 4)], [turn(0, "a")], "no gate passed"),
        ([event("gate", 1, passed=False), event("approval", 4)], [turn(0, "a")], "no gate passed"),
        ([event("gate", 1, passed="true"), event("approval", 4)], [turn(0, "a")], "no gate passed"),
        ([event("gate", 1, passed=True), event("approval", 4)], [], "no transcript"),
        ([event("gate", 1, passed=True), event("approval", 4)], [turn(2, "a")], "no turn before its gate passed"),
        ([event("gate", 1, passed=True), event("approval", 4)], [turn(0, " ")], "its reply is empty"),
        (
            [event("gate", 1, passed=True), event("approval", 4), event("rejection", 5)],
            [turn(0, "a")],
            "rejected after its approval",
        ),
    ],
)
def test_an_approved_task_that_is_not_verified_is_dropped_with_the_reason(events, turns, reason):
    collected = collect(events, turns, since=None)
    assert collected.pairs == ()
    assert collected.dropped == (("t1", reason),)


def test_a_task_that_nobody_approved_is_no_pair_and_no_drop():
    collected = collect([event("gate", 1, passed=True)], [turn(0, "a")], since=None)
    assert (collected.pairs, collected.dropped) == ((), ())


def test_an_approval_after_a_rejection_counts():
    events = [event("gate", 1, passed=True), event("rejection", 2), event("approval", 4)]
    assert len(collect(events, [turn(0, "a")], since=None).pairs) == 1


def test_the_window_is_on_the_approval_and_not_on_the_gate():
    events = [event("gate", 1, passed=True), event("approval", 4)]
    assert len(collect(events, [turn(0, "a")], since=at(4)).pairs) == 1
    assert len(collect(events, [turn(0, "a")], since=at(5)).pairs) == 0


def test_a_gate_on_the_shipped_commit_belongs_to_the_task():
    events = [
        event("approval", 1),
        event("ship", 2, commit_sha="abc"),
        event("gate", 3, task="", commit_sha="abc", passed=True),
    ]
    assert collect(events, [turn(0, "a")], since=None).pairs[0].event_ids == ("approval-1", "ship-2", "gate-3")


def test_a_gate_without_task_and_commit_vouches_for_nothing():
    events = [event("approval", 1), event("ship", 2), event("gate", 3, task="", passed=True)]
    assert collect(events, [turn(0, "a")], since=None).dropped == (("t1", "no gate passed"),)


def test_a_conversation_gives_its_last_turn_before_the_gate():
    events = [event("gate", 3, passed=True), event("approval", 4)]
    turns = [
        turn(0, "one", kind="chat", question="first"),
        turn(1, "two", kind="chat", question="second"),
        turn(9, "three", kind="chat", question="third"),
    ]
    (pair,) = collect(events, turns, since=None).pairs
    assert (pair.user_text, pair.response) == ("second", "two")


def test_turns_of_one_moment_are_ordered_by_attempt():
    turns = [
        Turn("b", at(0), "t1", "proposal", ({"role": "user", "content": "q"},), "first", attempt=1),
        Turn("a", at(0), "t1", "proposal", ({"role": "user", "content": "retry"},), "second", attempt=2),
    ]
    (pair,) = collect([event("gate", 0, passed=True), event("approval", 0)], turns, since=None).pairs
    assert (pair.user_text, pair.response) == ("q", "second")


def test_the_store_keeps_a_pair_once_and_survives_a_torn_line(tmp_path):
    store = PairStore(tmp_path / "pairs.jsonl")
    one, two = (Pair(({"role": "user", "content": text},), "a", task=text) for text in ("one", "two"))
    assert store.add([one, one]) == [one]
    with store.path.open("ab") as file:
        file.write(b'{"messages": [{"ro')
    assert store.add([one, two]) == [two]
    assert store.read() == [one, two]


def test_the_id_follows_the_content_and_not_the_events():
    base = Pair(({"role": "user", "content": "q"},), "a", ("e1",))
    assert base.id == Pair(({"content": "q", "role": "user"},), "a", ("e2",)).id
    assert base.id != Pair(({"role": "user", "content": "q"},), "b", ("e1",)).id
    assert Pair.from_json(base.to_json()) == base
