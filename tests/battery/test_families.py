import re
import subprocess
import sys

import pytest

from cipher_nb.battery.families import CATEGORIES, FAMILIES, battery_version, practice, sealed
from cipher_nb.battery.scorers import choose, score
from cipher_nb.errors import BatteryError

EACH_SIDE = 300


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def runs(text: str, length: int = 8) -> set[tuple[str, ...]]:
    found = words(text)
    return {tuple(found[i : i + length]) for i in range(len(found) - length + 1)}


def test_the_spine_has_four_of_the_sops_categories_with_two_families_each():
    assert CATEGORIES == ("command registry", "keybindings", "settings", "agent tools")
    assert [len(families) for families in FAMILIES.values()] == [2, 2, 2, 2]


@pytest.mark.parametrize("category", CATEGORIES)
@pytest.mark.parametrize("draw", [sealed, practice])
def test_three_hundred_samples_a_side_are_distinct_and_evenly_interleaved(category, draw):
    samples = draw(category, EACH_SIDE, seed=1)
    first, second = (family.name for family in FAMILIES[category])
    assert len({sample.user_text for sample in samples}) == 300
    assert len({sample.id for sample in samples}) == 300
    assert [sample.family for sample in samples] == [first, second] * 150


@pytest.mark.parametrize("category", CATEGORIES)
def test_no_sealed_question_shares_its_text_or_eight_words_in_a_row_with_practice(category):
    asked = [sample.user_text for seed in range(3) for sample in sealed(category, EACH_SIDE, seed=seed)]
    trained = [s.user_text for name in CATEGORIES for seed in range(3) for s in practice(name, EACH_SIDE, seed=seed)]
    shown = [text for families in FAMILIES.values() for family in families for text, _ in family.examples]
    others = [*trained, *shown]
    assert {tuple(words(text)) for text in asked} & {tuple(words(text)) for text in others} == set()
    assert set().union(*map(runs, asked)) & set().union(*map(runs, others)) == set()


@pytest.mark.parametrize("category", CATEGORIES)
@pytest.mark.parametrize("draw", [sealed, practice])
def test_the_same_seed_gives_the_same_samples_and_a_larger_count_begins_with_them(category, draw):
    assert draw(category, 100, seed=7)[:31] == draw(category, 31, seed=7)
    assert draw(category, 31, seed=8) != draw(category, 31, seed=7)


def test_samples_are_the_same_in_another_process():
    code = "from cipher_nb.battery.families import battery_version; print(battery_version())"
    other = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": "99"}
    )
    assert other.stdout.strip() == battery_version()


@pytest.mark.parametrize("category", CATEGORIES)
def test_the_target_itself_scores_one_and_rubbish_zero(category):
    for sample in [*sealed(category, 100, seed=3), *practice(category, 100, seed=3)]:
        assert score(sample, sample.target) == 1.0
        assert score(sample, "Sure! Here is how you can do that:") == 0.0


@pytest.mark.parametrize("category", CATEGORIES)
def test_every_choice_can_be_told_from_the_others_by_its_first_letters(category):
    choosing = [sample for sample in sealed(category, 200, seed=3) if sample.scorer == "choice"]
    for sample in choosing:
        assert sample.target in sample.choices
        assert [choose(sample.choices, {choice[:3]: -1.0}) for choice in sample.choices] == list(sample.choices)


def test_practice_of_the_command_registry_teaches_every_action_the_gate_asks_for():
    asked = {sample.target.split(".")[-1] for sample in sealed("command registry", 200, seed=1)}
    trained = {sample.target.split(".")[-1] for sample in practice("command registry", 96, seed=1)}
    assert asked == trained == {"open", "close", "split", "clear", "rename", "save", "restart", "copy"}


def test_an_unknown_category_is_refused_with_the_known_ones():
    with pytest.raises(BatteryError, match="category 'keybinding' is unknown; known: command registry, keybindings, "):
        sealed("keybinding", 1, seed=1)


def test_more_samples_than_a_family_has_are_refused_with_its_name():
    with pytest.raises(BatteryError, match=r"family '\w+' of 'agent tools' has about \d+ distinct sealed samples, not"):
        sealed("agent tools", 20_000, seed=1)
