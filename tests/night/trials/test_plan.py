"""Which trials a plan makes, and what it refuses."""

from dataclasses import replace

import pytest

from cipher_nb.config import TrainingSettings
from cipher_nb.errors import ConfigError
from cipher_nb.night.trials.plan import Plan, Trial


def test_the_default_plan_is_sixteen_trials():
    plan = Plan()
    assert len(plan.grid()) == 9
    assert len(set(plan.confirming(Trial(2e-4, 0.5))) - set(plan.grid())) == 4
    assert [trial.name for trial in plan.changes()] == [
        "5e-4 · 30%",
        "5e-4 · 30% from file",
        "5e-4 · 30% · NF4",
        "5e-4 · 30% · KTO",
    ]
    assert plan.count() == 16


def test_without_further_seeds_and_kinds_only_the_grid_is_tried():
    plan = Plan((5e-4,), (0.0, 0.3), confirm_seeds=(), replay=["base"], load_in_4bit=["no"], rejections=["ignore"])
    assert (plan.changes(), plan.confirming(plan.sop), plan.count()) == ([], [], 2)


def test_the_sops_setting_is_tried_also_where_the_grid_lacks_it():
    plan = Plan((1e-4,), (0.0,), confirm_seeds=(0, 1), replay=["base"], load_in_4bit=["no"], rejections=["ignore"])
    assert Trial(5e-4, 0.3) in plan.confirming(Trial(1e-4, 0.0))
    assert plan.count() == 4


def test_replay_is_wanted_for_the_sops_setting_too():
    bare = replace(Plan((1e-4,), (0.0,)), replay=["base"], load_in_4bit=["no"], rejections=["ignore"])
    assert bare.greatest_share() == 0.3
    assert replace(bare, confirm_seeds=()).greatest_share() == 0.0


def test_a_trial_sets_what_it_names_and_leaves_the_rest():
    settings = Trial(1e-4, 0.5, 2, load_in_4bit="yes", rejections="kto").settings(TrainingSettings(rank=4))
    assert (settings.lr, settings.replay_share, settings.seed) == (1e-4, 0.5, 2)
    assert (settings.load_in_4bit, settings.rejections, settings.rank) == ("yes", "kto", 4)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"rates": [0]}, "rates holds 0; it must be a number above 0"),
        ({"rates": ["1e-4"]}, "rates holds '1e-4'; it must be a number above 0"),
        ({"replay_shares": [1.0]}, "replay_shares holds 1.0; it must be a number from 0 to below 1"),
        ({"seeds": []}, "seeds is empty; name one at least"),
        ({"replay": ["bsae"]}, "replay holds 'bsae', which is unknown; did you mean base?"),
        ({"rejections": ["dpo"]}, "rejections holds 'dpo', which is unknown; known: ignore, kto"),
        ({"per_category": 0}, "per_category holds 0; it must be a number above 0"),
    ],
)
def test_what_cannot_be_tried_is_refused_by_name(wrong, said):
    with pytest.raises(ConfigError) as caught:
        Plan(**wrong)
    assert str(caught.value) == said
