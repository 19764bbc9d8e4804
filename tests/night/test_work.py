"""Which of the operator's work a night finds, over several nights: accumulated, counted, and dropped when unwanted."""

from datetime import timedelta

import pytest

from cipher_nb.night.work import verified_work
from cipher_nb.training.data.dataset import combine, freeze
from tests.night.work import approve, event, night, pass_days, turn, workspace


@pytest.fixture
def ws(tmp_path):
    return workspace(tmp_path)


def found(ws, folder=None):
    return verified_work(ws.parts, folder or night(ws), ws.bus.read_state(), since=ws.clock() - timedelta(hours=24))


def tasks(work):
    return [pair.task for pair in work.pairs]


def reasons(work):
    return [row.reason for row in work.left_out]


def judged(ws):
    """Let a night train on all there is and come before its gate."""
    folder = night(ws)
    work = found(ws, folder)
    freeze(combine(work.pairs, [], share=0.0, seed=0, sealed_texts=()), folder.dataset)
    folder.finish("gate", {"verdict": "INCONCLUSIVE"})
    return folder


def test_pairs_of_three_nights_that_found_too_little_are_all_new_on_the_third(ws):
    counts = []
    for day in range(3):
        approve(ws, *(f"t{day}{number}" for number in range(4)))
        counts.append((found(ws).new_count, found(ws).earlier_count))
        pass_days(ws, 1)
    assert counts == [(4, 0), (8, 0), (12, 0)]


def test_what_was_trained_on_is_no_longer_new_and_stays_in_the_training_set(ws):
    approve(ws, "a", "b", "c")
    judged(ws)
    pass_days(ws, 1)
    approve(ws, "d")
    work = found(ws)
    assert (tasks(work), work.new_count, work.earlier_count) == (["a", "b", "c", "d"], 1, 3)


def test_a_night_that_died_before_its_gate_uses_nothing_up(ws):
    approve(ws, "a", "b")
    folder = judged(ws)
    (folder.path / "gate.json").unlink()
    pass_days(ws, 1)
    assert found(ws).new_count == 2


def test_a_night_whose_gate_could_not_run_uses_nothing_up(ws):
    approve(ws, "a", "b")
    judged(ws).finish("gate", {"verdict": "COULD_NOT_RUN"})
    pass_days(ws, 1)
    assert found(ws).new_count == 2


def test_a_night_that_is_resumed_does_not_take_its_own_dataset_for_an_earlier_one(ws):
    approve(ws, "a", "b")
    assert found(ws, judged(ws)).new_count == 2


def test_work_older_than_the_window_is_not_found_and_what_was_stored_is_kept(ws):
    approve(ws, "a")
    pass_days(ws, 2)
    assert tasks(found(ws)) == []
    approve(ws, "b")
    assert tasks(found(ws)) == ["b"]
    pass_days(ws, 2)
    assert tasks(found(ws)) == ["b"]


def test_duplicates_do_not_count_as_new(ws):
    approve(ws, "one", "other")
    turn(ws, "copy", "it does one", question="what is the JOB of one")
    event(ws, "gate", "copy", minutes=20)
    event(ws, "approval", "copy")
    work = found(ws)
    assert (work.new_count, reasons(work)) == (2, [f"duplicate of {work.pairs[0].id}"])


def test_a_task_that_is_rejected_days_later_is_dropped_and_comes_back_when_it_is_approved_again(ws):
    approve(ws, "a", "b")
    judged(ws)
    pass_days(ws, 3)
    event(ws, "rejection", "a")
    work = found(ws)
    assert (tasks(work), reasons(work)) == (["b"], ["rejected after its approval"])
    judged(ws)
    pass_days(ws, 3)
    again = event(ws, "approval", "a")
    pass_days(ws, 5)  # no night ran while that was recent
    work = found(ws)
    assert (tasks(work), work.new_count) == (["a", "b"], 1)
    assert work.pairs[0].event_ids[-1] == again
    assert ws.purge(ids=[again]).pairs == (work.pairs[0].id,)


def test_a_commit_that_is_reverted_days_later_takes_its_task_out(ws):
    approve(ws, "a")
    event(ws, "ship", "a", minutes=5, commit_sha="0a1b2c3d4e5f")
    assert tasks(found(ws)) == ["a"]
    pass_days(ws, 3)
    event(ws, "rejection", "", reverts="0a1b2c3d4e5f")
    work = found(ws)
    assert (tasks(work), reasons(work)) == ([], ["rejected after its approval"])


def test_a_rejection_on_the_same_day_is_told_once(ws):
    approve(ws, "a")
    found(ws)
    event(ws, "rejection", "a", minutes=5)
    assert reasons(found(ws)) == ["rejected after its approval"]


def test_a_pair_of_which_an_event_was_purged_does_not_come_back_from_what_is_left(ws):
    approve(ws, "a", "b")
    shipped = event(ws, "ship", "a", minutes=5)
    pair = found(ws).pairs[0]
    assert pair.event_ids[-1] == shipped
    assert ws.purge(ids=["approval-a-10-30"]).pairs == (pair.id,)
    work = found(ws)
    assert (tasks(work), reasons(work)) == (["b"], ["an event that it came from was purged"])
    event(ws, "approval", "a", minutes=1)
    assert tasks(found(ws)) == ["b"]
    assert b"job of a" not in ws.paths.pairs.read_bytes()


def test_a_purged_task_is_named_nowhere(ws):
    approve(ws, "unwanted-task", "b")
    found(ws)
    ws.purge(tasks=["unwanted-task"])
    work = found(ws)
    assert (tasks(work), work.left_out) == (["b"], ())
    files = [path for path in ws.paths.aide.rglob("*") if path.is_file()]
    assert [path for path in files if b"unwanted-task" in path.read_bytes()] == []


def test_a_secret_of_the_operators_own_pattern_is_left_out_with_the_reason(tmp_path):
    ws = workspace(tmp_path, settings='[bus]\nsecrets = ["bluebird"]\n')
    turn(ws, "a", "It hides bluebird.")
    event(ws, "gate", "a", minutes=20)
    event(ws, "approval", "a")
    work = found(ws)
    assert (work.pairs, reasons(work)) == ((), ["holds an operator's own pattern"])
