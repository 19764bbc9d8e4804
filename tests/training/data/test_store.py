from datetime import UTC, datetime, timedelta

import pytest

from cipher_nb.records import Event
from cipher_nb.training.data.pairs import Pair
from cipher_nb.training.data.store import PairStore, standing

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


def event(type_, minute, task="t1", **fields):
    extra = {"task": task} if task else {}
    return Event(type_, NOON + timedelta(minutes=minute), f"{type_}-{minute}", {**extra, **fields})


def pair(task="t1", answer="a", ids=("gate-1", "approval-2")):
    return Pair(({"role": "user", "content": f"do {task}"},), answer, ids, task)


GATE, APPROVAL = event("gate", 1, passed=True), event("approval", 2)
ONE, TWO = pair("one"), pair("two")


@pytest.fixture
def store(tmp_path):
    return PairStore(tmp_path / "data" / "pairs.jsonl")


def test_the_store_keeps_a_pair_once_and_survives_a_torn_line(store):
    store.add([ONE, ONE])
    with store.path.open("ab") as file:
        file.write(b'{"messages": [{"ro')
    store.add([ONE, TWO])
    assert store.read() == [ONE, TWO]
    assert store.path.read_bytes().count(b"\n") == 2


def test_an_empty_store_holds_nothing(store):
    assert store.read() == []
    assert store.without_purged([ONE], []).pairs == (ONE,)


def test_a_pair_keeps_its_place_and_gets_the_events_that_came_to_stand_behind_it(store):
    store.add([ONE, TWO])
    store.add([pair("one", ids=("gate-1", "approval-2", "gate-7")), pair("two", ids=("gate-1",))])
    assert [(each.task, each.event_ids) for each in store.read()] == [
        ("one", ("gate-1", "approval-2", "gate-7")),
        ("two", ("gate-1", "approval-2")),
    ]
    assert store.path.read_bytes().count(b"\n") == 2  # so that erasing what names an event leaves no older line


@pytest.mark.slow
def test_twenty_thousand_pairs_are_taken_in_at_once(store):
    pairs = [pair(f"t{number}") for number in range(20_000)]
    store.add(pairs)
    assert len(store.read()) == 20_000


def test_a_stored_pair_stands_as_long_as_nothing_speaks_against_it():
    assert standing([pair()], [GATE, APPROVAL], verified=[]).pairs == (pair(),)


@pytest.mark.parametrize(
    "rejection",
    [event("rejection", 3 * 24 * 60), event("rejection", 9, task="", reverts="abc"), event("rejection", 2)],
    ids=["three days later", "of its commit", "of the same moment"],
)
def test_a_stored_pair_that_is_rejected_later_falls(rejection):
    events = [GATE, APPROVAL, event("ship", 2, commit_sha="abc"), rejection]
    assert standing([pair()], events, verified=[]).dropped == ((pair().id, "rejected after its approval"),)


def test_a_rejection_before_the_approval_does_not_matter():
    assert len(standing([pair()], [GATE, event("rejection", 1), APPROVAL], verified=[]).pairs) == 1


def test_a_rejection_of_another_task_does_not_matter():
    assert len(standing([pair()], [GATE, APPROVAL, event("rejection", 9, task="t2")], verified=[]).pairs) == 1


def test_a_task_that_is_approved_again_comes_back_with_the_new_approval():
    events = [GATE, APPROVAL, event("rejection", 9), event("approval", 12)]
    again = pair(ids=("gate-1", "approval-2", "approval-12"))
    assert standing([pair()], events, verified=[again]).pairs == (again,)


def test_the_answer_that_was_rejected_does_not_come_back_with_another_one():
    events = [GATE, APPROVAL, event("rejection", 9), event("gate", 11, passed=True), event("approval", 12)]
    better = pair(answer="better", ids=("gate-11", "approval-12"))
    still = standing([pair(), better], events, verified=[better])
    assert (still.pairs, still.dropped) == ((better,), ((pair().id, "rejected after its approval"),))


@pytest.mark.parametrize("left", [[], [GATE], [APPROVAL]])
def test_a_stored_pair_whose_events_left_the_bus_falls(left):
    assert standing([pair()], left, verified=[]).dropped == ((pair().id, "an event that it came from was purged"),)


def test_a_task_of_which_an_event_was_purged_never_comes_back(store):
    store.add([pair(ids=("gate-1", "approval-2", "ship-3"))])
    store.path.unlink()  # as erasure leaves no line of it
    rest, others = pair(ids=("gate-1", "ship-3")), pair("t2", ids=("gate-1",))
    kept = store.without_purged([rest, others], [GATE, event("ship", 3)])
    assert (kept.pairs, kept.dropped) == ((others,), ((rest.id, "an event that it came from was purged"),))


def test_a_pair_that_is_still_stored_is_met_as_well(store):
    store.path.parent.mkdir(parents=True)
    store.add([pair()])
    store.sources.unlink()
    assert store.without_purged([pair()], [GATE]).pairs == ()


def test_what_is_remembered_of_a_purged_pair_names_nothing(store):
    store.add([pair("secret-task", ids=("secret-event",))])
    assert b"secret" not in store.sources.read_bytes()
