"""Two errors are bounded at any size: a true -0.05 called PROVEN, and equal models called REGRESSION."""

import random
from collections import Counter

import pytest

from cipher_nb.battery.evidence.betting import betting_bound
from cipher_nb.battery.evidence.paired import Tally, lower_bound
from cipher_nb.battery.gate import compare
from tests.battery.makers import results

pytestmark = pytest.mark.slow

BOUND = 0.05
SIZES = [(24, 0.1), (24, 0.3), (100, 0.1), (100, 0.3)]


def allowed(trials: int) -> float:
    """Return the bound and three standard errors of `trials` coin tosses at it."""
    return BOUND + 3 * (BOUND * (1 - BOUND) / trials) ** 0.5


def drawn(rng: random.Random, n: int, *, changed: float, delta: float) -> list[int]:
    return rng.choices([1, -1, 0], [(changed + delta) / 2, (changed - delta) / 2, 1 - changed], k=n)


def pair(columns: dict[str, list[int]]):
    before = {name: [0.0 if d > 0 else 1.0 for d in column] for name, column in columns.items()}
    after = {name: [0.0 if d < 0 else 1.0 for d in column] for name, column in columns.items()}
    return results(before), results(after)


@pytest.mark.parametrize(("n", "changed"), [*SIZES, (100, 0.05), (300, 0.05), (300, 0.1)])
def test_the_bound_of_a_category_clears_a_true_drop_of_five_hundredths_in_at_most_one_of_twenty(n, changed):
    rng, trials = random.Random(n), 4000
    seen = Counter(
        sum(1 << (12 * (d < 0)) for d in drawn(rng, n, changed=changed, delta=-0.05) if d) for _ in range(trials)
    )
    wrong = sum(times for code, times in seen.items() if _bound(n, code % 4096, code >> 12) >= -0.05)
    assert wrong / trials <= allowed(trials)


def _bound(n: int, gains: int, losses: int) -> float:
    return lower_bound(Tally.counted(n=n, gains=gains, losses=losses), level=BOUND)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "changed"), SIZES)
def test_a_true_drop_of_five_hundredths_is_called_proven_in_at_most_one_of_twenty(n, changed):
    rng, trials = random.Random(n), 400
    verdicts = Counter(
        compare(
            *pair({"a": drawn(rng, n, changed=changed, delta=-0.05), "b": drawn(rng, n, changed=0.9, delta=0.85)})
        ).verdict
        for _ in range(trials)
    )
    assert verdicts["PROVEN"] / trials <= allowed(trials)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "changed"), SIZES)
def test_equal_models_are_called_a_regression_in_at_most_one_of_twenty(n, changed):
    rng, trials = random.Random(n), 400
    verdicts = Counter(
        compare(*pair({name: drawn(rng, n, changed=changed, delta=0.0) for name in "abcd"})).verdict
        for _ in range(trials)
    )
    assert verdicts["REGRESSION"] / trials <= allowed(trials)
    assert verdicts["PROVEN"] / trials <= allowed(trials)


@pytest.mark.slow
@pytest.mark.parametrize("n", [24, 100])
def test_the_composites_bound_clears_a_true_zero_in_at_most_one_of_twenty(n):
    rng, trials = random.Random(n), 800
    wrong = sum(
        betting_bound([*drawn(rng, n, changed=0.5, delta=0.3), *drawn(rng, n, changed=0.3, delta=-0.3)]) > 0
        for _ in range(trials)
    )
    assert wrong / trials <= allowed(trials)
