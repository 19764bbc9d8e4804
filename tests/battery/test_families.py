"""What holds for every family: enough distinct samples, right answers that score, and two sides that share no text."""

import re
import subprocess
import sys
from collections import Counter
from functools import cache

import pytest

from cipher_nb.battery.families import CATEGORIES, FAMILIES, battery_version, practice, sealed
from cipher_nb.battery.samples import Sample, Side
from cipher_nb.battery.scorers import choose, score
from cipher_nb.errors import BatteryError

pytestmark = pytest.mark.slow

EACH_SIDE = 300
SIDES = ("sealed", "practice")
EVERY_FAMILY = [(category, family.name) for category, families in FAMILIES.items() for family in families]
every_family = pytest.mark.parametrize(("category", "name"), EVERY_FAMILY, ids=map("/".join, EVERY_FAMILY))


@cache
def drawn(category: str, name: str, side: Side, seed: int) -> list[Sample]:
    family = next(family for family in FAMILIES[category] if family.name == name)
    return family.samples(category, EACH_SIDE, side=side, seed=seed)


def all_of(side: Side, *, seeds: range) -> list[Sample]:
    return [sample for category, name in EVERY_FAMILY for seed in seeds for sample in drawn(category, name, side, seed)]


def words(text: str) -> tuple[str, ...]:
    return tuple(re.findall(r"\w+", text.lower()))


def runs(text: str, length: int = 8) -> set[tuple[str, ...]]:
    found = words(text)
    return {found[i : i + length] for i in range(len(found) - length + 1)}


def test_the_sops_sixteen_categories_and_three_more_have_five_families_each():
    assert set(CATEGORIES) == {
        *("agent loop", "agent tools", "agent policy", "agent contracts", "byok", "command registry", "keybindings"),
        *("settings", "lsp/dap routes", "training gate", "exports", "handoff", "memory", "orchestrator", "workbench"),
        *("plugin manager", "math", "reasoning", "code"),
    }
    assert {len(families) for families in FAMILIES.values()} == {5}


@every_family
def test_a_family_makes_three_hundred_distinct_samples_on_each_side_whatever_the_seed(category, name):
    for side in SIDES:
        for seed in range(3):
            samples = drawn(category, name, side, seed)
            assert len({sample.user_text for sample in samples}) == 300
            assert len({sample.id for sample in samples}) == 300


@every_family
def test_the_reference_scores_one_and_rubbish_zero(category, name):
    for sample in [*drawn(category, name, "sealed", 0), *drawn(category, name, "practice", 0)]:
        if sample.scorer == "code":  # run in tests/battery/families
            continue
        assert score(sample, sample.reference) == 1.0, sample.user_text
        assert score(sample, "Sure! Here is how you can do that:") == 0.0


@every_family
def test_no_single_answer_is_right_for_most(category, name):
    samples = drawn(category, name, "sealed", 0)
    commonest, times = Counter(sample.reference for sample in samples).most_common(1)[0]
    assert times <= 180, commonest


@every_family
def test_a_question_is_short_enough_to_be_asked_every_night(category, name):
    for sample in drawn(category, name, "sealed", 0):
        assert sum(len(message["content"]) for message in sample.messages) <= 1100
        assert sample.max_tokens <= 64


@every_family
def test_choices_are_told_apart_by_their_first_letters(category, name):
    for sample in drawn(category, name, "sealed", 0):
        assert (sample.scorer == "choice") == bool(sample.choices)
        if sample.choices:
            assert sample.target in sample.choices
            assert [choose(sample.choices, {choice[:3]: -1.0}) for choice in sample.choices] == list(sample.choices)


def test_at_most_half_of_a_categorys_families_are_choices():
    for category, families in FAMILIES.items():
        assert sum(family.scorer == "choice" for family in families) <= 2, category


def test_no_sealed_question_shares_its_text_or_eight_words_in_a_row_with_practice_or_examples():
    asked = [sample.user_text for sample in all_of("sealed", seeds=range(2))]
    shown = [text for families in FAMILIES.values() for family in families for text, _ in family.examples]
    others = [*(sample.user_text for sample in all_of("practice", seeds=range(2))), *shown]
    assert set(map(words, asked)) & set(map(words, others)) == set()
    assert set().union(*map(runs, asked)) & set().union(*map(runs, others)) == set()


def test_no_sample_is_in_two_categories():
    samples = all_of("sealed", seeds=range(1))
    assert len({sample.user_text for sample in samples}) == len(samples)


@pytest.mark.parametrize("category", CATEGORIES)
@pytest.mark.parametrize("draw", [sealed, practice])
def test_families_take_turns_and_a_larger_count_begins_with_the_same_samples(category, draw):
    samples = draw(category, 100, seed=7)
    assert [sample.family for sample in samples] == [family.name for family in FAMILIES[category]] * 20
    assert samples[:31] == draw(category, 31, seed=7)
    assert draw(category, 31, seed=8) != draw(category, 31, seed=7)


@pytest.mark.parametrize("category", CATEGORIES)
def test_a_category_has_a_thousand_sealed_samples_for_the_full_size(category):
    assert len(sealed(category, 1000, seed=7)) == 1000


@every_family
def test_practice_teaches_every_class_of_answer_that_the_gate_asks_for(category, name):
    asked, trained = (drawn(category, name, side, 0) for side in SIDES)
    if len({sample.choices for sample in asked}) == 1 and asked[0].choices:
        assert {sample.target for sample in asked} <= {sample.target for sample in trained}


def test_samples_are_the_same_in_another_process():
    code = "from cipher_nb.battery.families import battery_version; print(battery_version())"
    other = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": "99"}
    )
    assert other.stdout.strip() == battery_version()


def test_an_unknown_category_is_refused_with_the_known_ones():
    with pytest.raises(BatteryError, match="category 'keybinding' is unknown; known: command registry, keybindings, "):
        sealed("keybinding", 1, seed=1)


def test_more_samples_than_a_family_has_are_refused_with_its_name():
    with pytest.raises(BatteryError, match=r"family '\w+' of 'agent tools' has about \d+ distinct sealed samples, not"):
        sealed("agent tools", 200_000, seed=1)
