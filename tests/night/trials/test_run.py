"""Running a study: what is on record is not done again, and a kill costs one trial at the most."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import replace

import pytest
from filelock import FileLock

from cipher_nb.errors import BatteryError, NightBusyError
from cipher_nb.night.trials.estimate import Estimate, estimate
from cipher_nb.night.trials.plan import Plan, Trial
from cipher_nb.night.trials.run import run_trials
from cipher_nb.night.trials.store import TrialStore, scores_of
from cipher_nb.night.trials.study import prepare
from tests.night.trials.workspaces import small_workspace
from tests.trials import outcome

TINY = Plan((5e-4,), (0.3, 0.0), confirm_seeds=(), replay=["base"], load_in_4bit=["no"], rejections=["ignore"])


def on_record(study, trial, gain):
    known = replace(outcome(trial, gain), key=study.key(trial), scores=scores_of(study.base))
    study.store.add(known)
    return known


def test_what_is_on_record_is_neither_trained_nor_asked_again(study):
    """The model is no model, so anything else would fail."""
    study = replace(study, plan=TINY)
    known = tuple(on_record(study, trial, 3) for trial in TINY.grid())
    assert run_trials(study).outcomes == known
    assert estimate(study) == Estimate(2, 2, 0.0)


def test_the_best_of_the_grid_is_confirmed_with_more_seeds(study):
    study = replace(study, plan=replace(TINY, replay_shares=(0.3, 0.0, 0.5), confirm_seeds=(0, 1)))
    wrong = {name: dict.fromkeys(scores, 0.0) for name, scores in scores_of(study.base).items()}
    for trial in [*study.plan.grid(), *study.plan.confirming(Trial(5e-4, 0.5))]:
        known = on_record(study, trial, 1)
        if trial == Trial(5e-4, 0.0):
            study.store.add(replace(known, scores=wrong))
    assert estimate(study) == Estimate(5, 5, 0.0)
    tried = [(each.trial.replay_share, each.trial.seed) for each in run_trials(study).outcomes]
    assert tried == [(0.3, 0), (0.0, 0), (0.5, 0), (0.3, 1), (0.5, 1)]


def test_a_night_that_runs_keeps_trials_away(study):
    with (
        FileLock(study.parts.paths.night_lock),
        pytest.raises(NightBusyError, match="another night, or trials, run on"),
    ):
        run_trials(study)


def test_one_category_is_too_few(ws):
    with pytest.raises(BatteryError, match=r"categories \['settings'\] are too few: one is trained on, the others"):
        prepare(ws.parts, Plan(categories=["settings"]))


SCRIPT = """
import sys
from dataclasses import replace
from cipher_nb import Workspace
from cipher_nb.night.trials.run import run_trials
from cipher_nb.night.trials.study import prepare
from tests.night.trials.test_run import TINY
study = prepare(Workspace.open(sys.argv[1]).parts, replace(TINY, per_category=4))
run_trials(study, say=lambda text: print(text, flush=True))
"""


@pytest.mark.slow
@pytest.mark.model
def test_a_kill_in_the_second_trial_costs_that_one_alone(embedded_gguf, tmp_path):
    ws = small_workspace(tmp_path, model=embedded_gguf, categories=("keybindings", "settings"), practice_pairs=6)
    command = [sys.executable, "-c", SCRIPT, str(tmp_path)]
    store = TrialStore(ws.paths.trials / "trials.jsonl")
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"}
    ) as run:
        assert run.stdout
        said = next(line for line in run.stdout if line.startswith("trial 2 of 2 (5e-4 · 0%, seed 0): training begins"))
        run.send_signal(signal.SIGKILL)
    assert "min left" in said
    first = store.read()
    assert [each.trial.replay_share for each in first.values()] == [0.3]

    again = subprocess.run(command, capture_output=True, text=True, timeout=1800, check=True)
    assert "trial 1 of 2" not in again.stdout
    assert {**first, **store.read()} == store.read()
    both = list(store.read().values())
    assert [(each.trial.replay_share, each.pairs) for each in both] == [(0.3, 11), (0.0, 8)]
    assert all(len(each.scores["settings"]) == 4 and each.losses for each in both)
    left = {path.name for path in ws.paths.trials.iterdir() if not path.match("engine*.log")}
    assert left == {"pairs.json", "progress.json", "trials.jsonl"}
    assert ws.registry.state().archived == {}
    assert not ws.paths.adapters.exists()
