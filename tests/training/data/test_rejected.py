from datetime import UTC, datetime, timedelta

import pytest

from cipher_nb.records import Event, Turn
from cipher_nb.training.data.pairs import Pair, collect
from cipher_nb.training.data.rejected import collect_rejected, screen_rejected
from tests.training.conftest import pair

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
SYSTEM = {"role": "system", "content": "Be brief."}


def at(minute):
    return NOON + timedelta(minutes=minute)


def event(type_, minute, task="t1", **fields):
    return Event(type_, at(minute), f"{type_}-{minute}", {"task": task, **fields})


def turn(minute, reply, *, question="rename x", kind="proposal", task="t1", **more):
    messages = (SYSTEM, {"role": "user", "content": question})
    return Turn(f"turn-{minute}", at(minute), task, kind, messages, reply, **more)


def test_a_rejected_task_gives_its_first_question_and_the_proposal_that_was_shown():
    events = [event("gate", 1, passed=False), event("gate", 3, passed=True), event("rejection", 4)]
    turns = [
        turn(0, "failed its checks"),
        turn(2, "shown", question="rename x\nit failed", attempt=2),
        turn(9, "came later", attempt=3),
    ]
    collected = collect_rejected(events, turns)
    assert collected.dropped == ()
    assert collected.pairs == (
        Pair(
            (SYSTEM, {"role": "user", "content": "rename x"}),
            "shown",
            event_ids=("rejection-4",),
            task="t1",
            source="rejected",
        ),
    )


def test_a_conversation_gives_the_turn_before_the_rejection():
    turns = [
        turn(0, "one", kind="chat", question="first"),
        turn(1, "two", kind="chat", question="second"),
        turn(9, "three", kind="chat", question="third"),
    ]
    (rejected,) = collect_rejected([event("rejection", 4)], turns).pairs
    assert (rejected.user_text, rejected.response) == ("second", "two")


@pytest.mark.parametrize(
    ("events", "ids"),
    [
        ([event("rejection", 1)], [("rejection-1",)]),
        ([event("approval", 1), event("rejection", 2)], [("rejection-2",)]),
        ([event("rejection", 1), event("approval", 2), event("ship", 3), event("rejection", 4)], [("rejection-4",)]),
        (
            [event("approval", 1), event("ship", 2), event("rejection", 3, tool="git", reverts="abc")],
            [("rejection-3",)],
        ),
        (
            [
                event("approval", 1),
                event("ship", 2, commit_sha="abcdef12"),
                event("rejection", 3, "", reverts="abcdef1"),
            ],
            [("rejection-3",)],
        ),
        ([event("rejection", 1), event("rejection", 2)], [("rejection-1", "rejection-2")]),
        ([event("rejection", 1), event("abort", 2)], [("rejection-1",)]),
        ([event("abort", 1)], []),
        ([event("approval", 1)], []),
        ([event("rejection", 1), event("approval", 2)], []),
        ([event("rejection", 1), event("ship", 2)], []),
        ([event("rejection", 1), event("rejection", 3, reverts="abc"), event("approval", 4, reverts="def")], []),
        ([event("rejection", 1, task="")], []),
    ],
)
def test_only_a_rejection_that_is_the_operators_last_word_counts(events, ids):
    collected = collect_rejected(reversed(events), [turn(0, "a"), turn(0, "b", task="")])
    assert ([found.event_ids for found in collected.pairs], collected.dropped) == (ids, ())


def test_no_task_is_both_approved_and_rejected():
    passed, turns = event("gate", 0, passed=True), [turn(0, "a")]
    for events in (
        [passed, event("approval", 1), event("rejection", 1)],
        [passed, event("rejection", 1), event("approval", 2)],
        [passed, event("approval", 1), event("rejection", 2)],
    ):
        approved, rejected = collect(events, turns, since=None).pairs, collect_rejected(events, turns).pairs
        assert len(approved) + len(rejected) == 1


@pytest.mark.parametrize(
    ("turns", "reason"),
    [
        ([], "rejected without a transcript of the answer"),
        ([turn(2, "after it")], "rejected without a transcript of the answer"),
        ([turn(0, " \n")], "rejected, but its reply is empty"),
        (
            [Turn("turn", at(0), "t1", "chat", (SYSTEM,), "a")],
            "rejected, but its prompt does not end with a user turn",
        ),
    ],
)
def test_a_rejection_without_an_answer_to_learn_from_is_dropped_with_the_reason(turns, reason):
    collected = collect_rejected([event("rejection", 1)], turns)
    assert (collected.pairs, collected.dropped) == ((), (("t1", reason),))


@pytest.mark.parametrize(("finish", "finished"), [("stop", True), ("length", False), ("aborted", False)])
def test_the_end_of_an_answer_that_was_cut_off_is_not_held_against_it(finish, finished):
    (rejected,) = collect_rejected([event("rejection", 1)], [turn(0, "a", kind="chat", finish=finish)]).pairs
    assert rejected.finished is finished


def test_secrets_sealed_text_and_duplicates_go_with_the_reason():
    kept = pair("Pick one.", "a", source="rejected", task="t1")
    again = pair("Pick one!", "a", source="rejected", task="t2")
    secret = pair("Log in.", "password = 'Vw9#kLq2!xZt'", source="rejected", task="t3")
    sealed = pair("x", "one two three four five six seven eight", source="rejected", task="t4")
    rejected, dropped = screen_rejected(
        [kept, again, secret, sealed], [], ["zero one two three four five six seven eight nine"]
    )
    assert rejected == [kept]
    assert [name for name, _ in dropped] == [again.id, secret.id, sealed.id]
    assert [reason.split()[0] for _, reason in dropped] == ["duplicate", "holds", "shares"]


def test_an_answer_that_was_also_approved_for_the_same_question_goes_and_one_for_another_stays():
    approved = pair("Pick one.", "a", task="t1")
    other_system = ({"role": "system", "content": "[learned] be brief"}, {"role": "user", "content": "Pick one."})
    same = Pair(other_system, "a\n", source="rejected", task="t2")
    elsewhere = pair("Pick a fruit.", "a", source="rejected", task="t3")
    nearly = pair("Pick one.", "-a", source="rejected", task="t4")
    rejected, dropped = screen_rejected([same, elsewhere, nearly], [approved], [])
    assert rejected == [elsewhere, nearly]
    assert dropped == [(same.id, f"rejected, but also the answer of {approved.id}")]
