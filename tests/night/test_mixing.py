"""Which prompts the base answers for replay."""

import pytest

from cipher_nb.battery.families import CATEGORIES, practice
from cipher_nb.config import Config
from cipher_nb.night.mixing import MOST_PRACTICE, replay_prompts


def counted(prompts):
    general = sum(len(prompt) == 1 for prompt in prompts)
    return general, len(prompts) - general


@pytest.mark.parametrize(
    ("count", "general", "practised"),
    [(0, 0, 0), (1, 1, 0), (19, 19, 0), (38, 19, 19), (200, 105, 95), (1000, 345, 646), (20_000, 345, 9728)],
)
def test_half_are_general_and_half_practice_and_practice_fills_what_general_prompts_lack(count, general, practised):
    assert counted(replay_prompts(Config(), count, healthy=CATEGORIES)) == (general, practised)


def test_what_failed_is_not_practised_with_the_answers_of_the_base():
    prompts = replay_prompts(Config(), 20, healthy=["settings"])
    assert [prompt for prompt in prompts if len(prompt) > 1] == [
        sample.messages for sample in practice("settings", 10, seed=7)
    ]


def test_where_everything_failed_all_prompts_are_general():
    assert counted(replay_prompts(Config(), 20, healthy=())) == (20, 0)


def test_every_category_has_as_much_practice_as_is_ever_asked_for():
    assert {len(practice(name, MOST_PRACTICE, seed=7)) for name in CATEGORIES} == {512}
