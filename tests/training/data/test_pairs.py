import json
from datetime import UTC, datetime, timedelta

import pytest

from cipher_nb.bus import Bus
from cipher_nb.records import UNDATED, Event, Turn
from cipher_nb.training.data.pairs import Pair, collect

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
        (
            [event("gate", 1, passed=True), event("approval", 4)],
            [turn(2, "a")],
            "no turn before it was approved and its gate passed",
        ),
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


def test_a_gate_that_passed_is_enough_and_the_answer_is_the_one_it_passed_on():
    events = [
        event("gate", 1, gate="pytest", passed=True),
        event("gate", 3, gate="pytest", passed=False),
        event("approval", 4),
        event("gate", 6, gate="ci", passed=False),
    ]
    (pair,) = collect(events, [turn(0, "passed"), turn(2, "failed", attempt=2)], since=None).pairs
    assert (pair.response, pair.event_ids) == ("passed", ("gate-1", "approval-4"))


def test_an_answer_that_came_after_the_approval_is_not_the_approved_one():
    events = [event("gate", 1, passed=True), event("approval", 2), event("gate", 4, passed=True)]
    (pair,) = collect(events, [turn(0, "approved"), turn(3, "later", attempt=2)], since=None).pairs
    assert pair.response == "approved"
    (pair,) = collect([*events, event("ship", 5)], [turn(0, "approved"), turn(3, "shipped")], since=None).pairs
    assert pair.response == "shipped"


def test_a_gate_on_a_later_commit_vouches_for_nothing():
    events = [
        event("approval", 1),
        event("ship", 2, commit_sha="abc"),
        event("ship", 3, task="t2", commit_sha="abd"),
        event("gate", 4, task="", commit_sha="abd", passed=True),
    ]
    assert collect(events, [turn(0, "a")], since=None).dropped == (("t1", "no gate passed"), ("t2", "no transcript"))


def test_one_commit_may_ship_several_tasks():
    ships = [event("ship", 2, task=task, commit_sha="abc") for task in ("t1", "t2")]
    gate = event("gate", 3, task="", commit_sha="abc", passed=True)
    pairs = collect([*ships, gate], [turn(0, "a"), turn(1, "b", task="t2")], since=None).pairs
    assert [(pair.task, pair.event_ids) for pair in pairs] == [
        ("t1", ("ship-2", "gate-3")),
        ("t2", ("ship-2", "gate-3")),
    ]


@pytest.mark.parametrize(
    ("shipped", "named", "pairs"),
    [
        ("0a1b2c3d4e5f", "0a1b2c3", 1),
        ("0a1b2c3", "0A1B2C3D4E5F", 1),
        ("0a1b2c3d4e5f", "0a1b2c3ffff", 0),
        ("0a1b", "0a", 0),
    ],
)
def test_a_commit_may_be_abbreviated(shipped, named, pairs):
    events = [event("ship", 2, commit_sha=shipped), event("gate", 3, task="", commit_sha=named, passed=True)]
    assert len(collect(events, [turn(0, "a")], since=None).pairs) == pairs


def test_a_ship_without_a_task_is_that_of_the_task_whose_gate_names_its_commit():
    events = [event("gate", 1, commit_sha="abc", passed=True), event("ship", 2, task="", commit_sha="abc")]
    (pair,) = collect(events, [turn(0, "a")], since=None).pairs
    assert pair.event_ids == ("gate-1", "ship-2")


def test_a_commit_that_was_reverted_takes_its_task_out():
    events = [
        event("gate", 1, passed=True),
        event("ship", 2, commit_sha="abc"),
        event("rejection", 3, task="", reverts="abc"),
    ]
    assert collect(events, [turn(0, "a")], since=None).dropped == (("t1", "rejected after its approval"),)


def test_two_approvals_both_stand_behind_the_pair_and_the_later_one_counts():
    events = [event("gate", 1, passed=True), event("approval", 2), event("rejection", 3), event("approval", 4)]
    (pair,) = collect(events, [turn(0, "a")], since=at(4)).pairs
    assert pair.event_ids == ("gate-1", "approval-2", "approval-4")


def test_an_approval_in_the_window_counts_when_its_ship_is_older_and_the_other_way_round():
    gate, turns = event("gate", 1, passed=True), [turn(0, "a")]
    for events in ([event("approval", 2), event("ship", 9)], [event("ship", 2), event("approval", 9)]):
        assert len(collect([gate, *events], turns, since=at(9)).pairs) == 1
        assert len(collect([gate, *events], turns, since=at(10)).pairs) == 0


def test_events_of_other_programs_count_by_what_they_tell(tmp_path):
    lines = [
        {"type": "gate", "gate": "ci", "passed": True, "duration_ms": 3, "task": "t1", "ts": 1_796_040_120_000},
        {"type": "approval", "tool": "edit", "path": "a.py", "decision": "ok", "task": "t1", "ts": 1_796_040_180_000},
    ]
    path = tmp_path / "cipher-state.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    events = Bus(path).read_state()
    assert [event.ts for event in events] == [at(3), at(2)]
    (pair,) = collect(events, [turn(1, "a")], since=at(3)).pairs
    assert (pair.task, pair.event_ids) == ("t1", ())
    assert collect(events, [turn(1, "a")], since=at(4)).pairs == ()


def test_an_approval_without_a_time_is_never_recent():
    events = [event("gate", 1, passed=True), Event("approval", UNDATED, "e1", {"task": "t1"})]
    assert collect(events, [turn(0, "a")], since=at(-60 * 24 * 365)).pairs == ()


@pytest.mark.parametrize("undated", ["gate", "approval"])
def test_a_gate_or_an_approval_without_a_time_sets_no_bound_to_the_answers(undated):
    fields = {"task": "t1", "passed": True}
    kinds = (("gate", 4), ("approval", 5))
    events = [Event(kind, UNDATED if kind == undated else at(minute), kind, fields) for kind, minute in kinds]
    (pair,) = collect(events, [turn(0, "a")], since=None).pairs
    assert sorted(pair.event_ids) == ["approval", "gate"]


def test_a_rejection_without_a_time_is_the_last_word():
    events = [event("gate", 1, passed=True), event("approval", 2), Event("rejection", UNDATED, "e1", {"task": "t1"})]
    assert collect(events, [turn(0, "a")], since=None).dropped == (("t1", "rejected after its approval"),)


@pytest.mark.parametrize("passed", [1, "true", "True", None])
def test_a_gate_passed_only_where_it_says_true(passed):
    events = [event("gate", 1, passed=passed), event("approval", 4)]
    assert collect(events, [turn(0, "a")], since=None).dropped == (("t1", "no gate passed"),)


def test_the_id_follows_the_content_and_not_the_events():
    base = Pair(({"role": "user", "content": "q"},), "a", ("e1",))
    assert base.id == Pair(({"content": "q", "role": "user"},), "a", ("e2",)).id
    assert base.id != Pair(({"role": "user", "content": "q"},), "b", ("e1",)).id
    assert Pair.from_json(base.to_json()) == base
