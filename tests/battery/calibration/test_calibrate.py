"""Simulated nights whose truth is known: the errors are bounded at any size, and the full size sees enough."""

from dataclasses import replace

import pytest

from cipher_nb.battery.calibration.calibrate import BETTER, CASES, EQUAL, FALL, HIDDEN, LIMIT, Calibrated, calibrate
from cipher_nb.battery.calibration.creep import creep
from cipher_nb.battery.calibration.simulation import nights


def row(**changed: object) -> Calibrated:
    plain = Calibrated(EQUAL, n=100, changed=0.1, trials=1000, once=0.01, early=0.02, rule=0.5, asked=0.9)
    return replace(plain, **changed)


def test_an_error_holds_up_to_its_bound_and_the_chance_of_the_trials():
    assert row(early=0.07).holds is True
    assert row(early=0.072).holds is False
    assert row(once=0.08).holds is False
    assert row(trials=100, early=0.11).holds is True


def test_what_should_be_seen_is_asked_of_the_full_size_only():
    assert row(case=BETTER, once=0.1, early=0.1).holds is None
    assert row(case=BETTER, n=1000, once=0.79, early=0.79).holds is True
    assert row(case=BETTER, n=1000, once=0.9, early=0.7).holds is False


def test_the_same_seed_gives_the_same_nights():
    drawn = [list(nights([0.0, -0.05], changed=0.2, n=30, trials=20, seed=seed)) for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]


def test_nights_that_stop_early_ask_less_and_never_more():
    asked = [each.asked for each in nights([-0.4] * 4, changed=0.5, n=256, trials=20, seed=1)]
    assert max(asked) <= 0.25


@pytest.mark.slow
@pytest.mark.parametrize("n", [10, 59, 200])
def test_both_errors_are_bounded_and_the_bare_rules_are_not(n):
    rows = list(calibrate(categories=19, trials=300, sizes=[n], changed=[0.05, 0.3]))
    assert [(each.case.name, each.holds) for each in rows if each.holds is False] == []
    assert max(each.rule for each in rows if each.case in (EQUAL, HIDDEN)) > 0.4


@pytest.mark.slow
@pytest.mark.parametrize("changed", [0.05, 0.3])
def test_a_thousand_samples_a_category_see_what_they_should(changed):
    rows = {each.case: each for each in calibrate(categories=19, trials=200, sizes=[1000], changed=[changed])}
    assert set(rows) == set(CASES)
    assert all(each.holds for each in rows.values())
    assert min(rows[FALL].once, rows[FALL].early) >= 0.95
    assert min(rows[BETTER].once, rows[BETTER].early) >= 0.8
    assert min(rows[LIMIT].once, rows[LIMIT].early) > 0.4


def test_thirty_small_accepted_drops_add_up_without_anchors_and_not_with_them():
    bare, anchored = (creep(n=1000, changed=0.1, anchored=anchored, trials=100) for anchored in (False, True))
    assert bare.mean_drop > 0.5
    assert anchored.mean_drop < 0.1
    assert anchored.accepted < 6
