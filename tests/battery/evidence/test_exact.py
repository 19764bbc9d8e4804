"""The exact test for a difference of paired shares, against plain enumeration."""

from math import comb

import pytest

from cipher_nb.battery.evidence.exact import fewest_gains, lower_bound, p_not_above, score_statistic


def chance(n: int, fewest, *, changed: float, difference: float) -> float:
    """Return the chance of an outcome in the rejection region, by adding up every outcome there is."""
    gain, loss = (changed + difference) / 2, (changed - difference) / 2
    return sum(
        comb(n, gains)
        * comb(n - gains, losses)
        * gain**gains
        * loss**losses
        * (1 - gain - loss) ** (n - gains - losses)
        for gains in range(n + 1)
        for losses in range(n + 1 - gains)
        if gains >= fewest[gains + losses]
    )


def test_without_a_single_change_59_samples_rule_out_a_drop_of_five_hundredths():
    assert p_not_above(n=58, gains=0, losses=0, difference=-0.05) == pytest.approx(0.95**58, abs=1e-6)
    assert 0.95**59 < 0.05 < 0.95**58
    assert lower_bound(n=59, gains=0, losses=0, level=0.05) == -0.05
    assert lower_bound(n=58, gains=0, losses=0, level=0.05) == -0.051


@pytest.mark.parametrize("n", [30, 59, 80])
@pytest.mark.parametrize("level", [0.05, 0.01])
@pytest.mark.parametrize("difference", [-0.05, 0.0])
def test_the_chance_to_refute_what_is_true_is_at_most_the_level_whatever_changes(n, level, difference):
    fewest = fewest_gains(n=n, difference=difference, level=level)
    sizes = [chance(n, fewest, changed=share / 200, difference=difference) for share in range(10, 201, 3)]
    assert max(sizes) <= level * 1.002
    assert max(sizes) > level / 3


@pytest.mark.parametrize("n", [20, 59, 100])
def test_the_fewest_gains_and_the_p_value_are_one_test(n):
    fewest = fewest_gains(n=n, difference=-0.05, level=0.05)
    for changed in range(0, n + 1, 3):
        for gains in range(changed + 1):
            p = p_not_above(n=n, gains=gains, losses=changed - gains, difference=-0.05)
            assert (p <= 0.05) == (gains >= fewest[changed])


def test_tangos_statistic_is_mcnemars_where_no_difference_is_meant():
    assert score_statistic(n=50, gains=12, losses=5, difference=0.0) == pytest.approx(7 / 17**0.5)


def test_a_bound_rises_with_gains_and_falls_with_losses():
    bounds = [lower_bound(n=100, gains=gains, losses=5, level=0.05) for gains in (0, 5, 10, 20)]
    assert bounds == sorted(bounds)
    assert lower_bound(n=100, gains=5, losses=9, level=0.05) < lower_bound(n=100, gains=5, losses=5, level=0.05)


def test_nothing_won_at_all_bounds_nothing():
    assert lower_bound(n=10, gains=0, losses=10, level=0.05) == -1.0
