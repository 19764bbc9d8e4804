from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cipher_nb.battery.evidence.betting import betting_bound
from cipher_nb.battery.evidence.composite import composite_bound, composite_delta, p_not_better, p_not_worse
from cipher_nb.battery.evidence.paired import Tally, holm, lower_bound, p_worse
from cipher_nb.battery.evidence.power import detectable_drop, power_of, samples_to_decide


def tally(values) -> Tally:
    return Tally.of([Fraction(value) for value in values])


def test_mcnemar_exact_of_five_losses_is_one_in_thirty_two():
    assert p_worse(Tally.counted(n=48, gains=0, losses=5)) == 1 / 32


def test_mcnemar_exact_of_seven_losses_and_one_gain():
    assert p_worse(Tally.counted(n=20, gains=1, losses=7)) == pytest.approx(9 / 256)


def test_nothing_changed_is_no_evidence():
    assert p_worse(Tally.counted(n=10, gains=0, losses=0)) == 1.0


@given(st.lists(st.sampled_from([-1, -0.75, -0.5, 0, 0.25, 0.5]), min_size=1, max_size=8))
def test_fractional_scores_get_the_exact_sign_flip_distribution(values):
    sizes = [abs(value) for value in values]
    flips = [
        sum(s for s, lost in zip(sizes, signs, strict=True) if lost) for signs in product([0, 1], repeat=len(sizes))
    ]
    lost = sum(-value for value in values if value < 0)
    assert p_worse(tally(values)) == pytest.approx(sum(f >= lost for f in flips) / len(flips))


def test_holm_steps_down_and_never_falls_back():
    assert holm({"a": 0.01, "b": 0.04, "c": 0.03, "d": 0.9}) == {"a": 0.04, "b": 0.09, "c": 0.09, "d": 0.9}


@given(st.lists(st.sampled_from([-1, -0.5, 0, 0.5, 1]), min_size=1, max_size=40))
def test_no_bound_is_above_what_was_seen(values):
    seen = sum(values) / len(values)
    assert betting_bound(values) <= seen + 1e-9
    assert lower_bound(tally(values), level=0.05) <= seen + 1e-9


@given(st.lists(st.sampled_from([-1, -0.5, 0, 0.5, 1]), min_size=1, max_size=40), st.randoms())
def test_the_betting_bound_does_not_care_for_order(values, rng):
    shuffled = rng.sample(values, len(values))
    assert betting_bound(shuffled) == pytest.approx(betting_bound(values), abs=1e-9)


def test_equal_differences_may_be_counted_instead_of_listed():
    listed = betting_bound([1, 1, 1, 0, 0, -1], weights=[1, 1, 1, 2, 2, 1])
    assert betting_bound([1, 0, -1], times=[3, 2, 1], weights=[1, 2, 1]) == pytest.approx(listed, abs=1e-9)


def test_the_composite_bound_holds_categories_of_unequal_size_alike():
    found = [Tally.counted(n=60, gains=60, losses=0), Tally.counted(n=600, gains=0, losses=0)]
    assert composite_delta(found) == 0.5
    assert 0.3 < composite_bound(found, level=0.05) < 0.5


def test_a_composite_is_better_or_worse_beyond_chance_but_not_both():
    up = [Tally.counted(n=100, gains=20, losses=2), Tally.counted(n=100, gains=5, losses=5)]
    assert p_not_better(up) < 0.05
    assert p_not_worse(up) > 0.5


def test_power_of_a_sure_loss_is_the_chance_of_enough_changes():
    assert power_of(0.2, n=5, changed=0.2) == pytest.approx(0.2**5)


def test_ten_samples_at_one_percent_need_almost_all_lost():
    assert detectable_drop(n=4, changed=0.0) is None
    assert detectable_drop(n=48, changed=0.0) == 0.137


def test_what_would_decide_grows_with_the_changes():
    assert samples_to_decide(n=63, gains=0, losses=0, margin=0.05) == 63
    assert samples_to_decide(n=48, gains=0, losses=0, margin=0.05) == 64
    assert 100 < samples_to_decide(n=48, gains=3, losses=3, margin=0.05) < 700
    assert samples_to_decide(n=20, gains=0, losses=1, margin=0.05) == 92
    assert samples_to_decide(n=1000, gains=200, losses=249, margin=0.05) is None
