"""What scores say: gains, losses, and what cannot be told apart."""

import pytest

from cipher_nb.night.trials.evidence import change
from cipher_nb.night.trials.plan import Plan, Trial
from tests.trials import findings, outcome, scores

SOP = Trial(5e-4, 0.3)


def test_gain_and_loss_are_means_against_the_base_on_the_same_samples():
    found = findings(Plan(), outcome(SOP, gain=24, elsewhere=-6)).finding(SOP)
    assert found.target.delta == 0.5
    assert found.elsewhere.delta == pytest.approx(-6 / 48 / 3)
    assert (found.worst_category, found.worst.delta) == ("settings", -0.125)
    assert found.composite.delta == pytest.approx((24 - 6) / 48 / 4)
    assert not found.passes_rule


def test_an_interval_holds_the_change_and_tells_a_large_one_from_none():
    found = findings(Plan(), outcome(SOP, gain=24)).finding(SOP)
    assert 0.3 < found.target.lower < 0.5 < found.target.upper < 0.7
    assert found.target.word == "better"
    assert found.elsewhere.lower < 0 < found.elsewhere.upper
    assert found.elsewhere.word == ""


def test_the_interval_of_the_worst_category_is_wider_since_it_was_picked():
    (alone, base) = scores({"a": 40}), scores({"a": 44})
    one, picked = change([base], [alone], ["a"]), change([base], [alone], ["a"], share=3)
    assert picked.lower < one.lower < one.upper < picked.upper


def test_seeds_are_averaged_and_their_range_is_told():
    found = findings(Plan(), *(outcome(Trial(5e-4, 0.3, seed), gain=12 + 6 * seed) for seed in (0, 1, 2))).finding(SOP)
    assert found.seeds == (0, 1, 2)
    assert (found.target.least, found.target.delta, found.target.greatest) == (0.25, 0.375, 0.5)


def test_two_settings_are_compared_sample_by_sample_on_the_seeds_both_have():
    other = Trial(1e-4, 0.0)
    seen = findings(Plan(), outcome(SOP, 20), outcome(Trial(5e-4, 0.3, 1), 2), outcome(other, 10))
    assert seen.between(SOP, other, of="target").delta == pytest.approx(10 / 48)
    assert seen.between(other, SOP, of="target").delta == pytest.approx(-10 / 48)
    assert seen.between(SOP, other, of="target").word == "better"
    assert seen.between(SOP, other, of="elsewhere").delta == 0
    assert seen.between(SOP, Trial(2e-4, 0.5)) is None


def test_the_best_other_passes_the_rule_before_it_gains_the_most():
    greedy, careful = Trial(5e-4, 0.0), Trial(2e-4, 0.5)
    seen = findings(Plan(), outcome(SOP, 40), outcome(greedy, 30, elsewhere=-10), outcome(careful, 15))
    assert seen.best_other() == careful


def test_further_seeds_give_no_advantage_in_the_choice_of_the_best():
    lucky, steady = Trial(1e-4, 0.5), Trial(2e-4, 0.5)
    more = [outcome(Trial(1e-4, 0.5, seed), 40) for seed in (1, 2)]
    assert findings(Plan(), outcome(lucky, 10), outcome(steady, 12), *more).best_other() == steady


def test_a_trial_that_failed_counts_for_nothing():
    failed = outcome(SOP, 0).__class__("k", SOP, scores={}, error="the loss is nan at step 3 of 20")
    seen = findings(Plan(), failed, outcome(Trial(1e-4, 0.0), 5))
    assert seen.finding(SOP) is None
    assert seen.failed == (failed,)
    assert seen.settings() == [Trial(1e-4, 0.0)]
