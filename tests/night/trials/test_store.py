"""Outcomes on disk."""

from dataclasses import replace

from cipher_nb.night.trials.plan import Trial
from cipher_nb.night.trials.store import TrialStore
from tests.trials import outcome


def test_an_outcome_comes_back_as_it_was(tmp_path):
    store = TrialStore(tmp_path / "trials.jsonl")
    kept = outcome(Trial(1e-4, 0.5, 2, rejections="kto"), gain=3)
    store.add(kept)
    assert store.read() == {kept.key: kept}


def test_the_last_loss_is_the_mean_over_the_last_quarter_of_the_steps():
    told = replace(outcome(Trial(1e-4, 0.0), gain=1), losses=(9.0, 9.0, 9.0, 9.0, 9.0, 9.0, 1.0, 2.0))
    assert told.last_loss == 1.5
    assert replace(told, losses=(3.0, 2.0)).last_loss == 2.0


def test_a_line_torn_by_a_kill_costs_that_trial_alone(tmp_path):
    store = TrialStore(tmp_path / "trials.jsonl")
    first, second = outcome(Trial(1e-4, 0.0), gain=1), outcome(Trial(2e-4, 0.0), gain=2)
    store.add(first)
    with store.path.open("ab") as file:
        file.write(b'{"of":"another program"}\n{"key":"torn","scores":{"sett')
    store.add(second)
    assert list(store.read()) == [first.key, second.key]
