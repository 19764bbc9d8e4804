"""Looks, what they decide, and what is asked before the next one."""

import random
from fractions import Fraction

import pytest

from cipher_nb.battery.evidence.course import Answers, follow
from cipher_nb.battery.evidence.looks import Look, plan, single


def column(n: int, *, gains: int = 0, losses: int = 0) -> list[Fraction]:
    """Return differences with the changes spread evenly."""
    marks = [Fraction(1)] * gains + [Fraction(-1)] * losses
    random.Random(3).shuffle(marks)
    places = {round((place + 0.5) * n / len(marks)): mark for place, mark in enumerate(marks)} if marks else {}
    return [places.get(place, Fraction(0)) for place in range(n)]


def asked(size: int, **columns: list[Fraction]) -> dict[str, Answers]:
    return {name: Answers(differences, size) for name, differences in columns.items()}


def test_a_plan_doubles_up_to_the_full_size_and_spends_five_percent_in_all():
    looks = plan(1000)
    assert [look.n for look in looks] == [62, 125, 250, 500, 1000]
    assert sum(look.level for look in looks) == pytest.approx(0.05)
    assert looks[-1].level == pytest.approx(0.05 * 7 / 8)


@pytest.mark.parametrize("full", [1, 2, 3, 10, 16, 17])
def test_small_batteries_have_fewer_looks_and_spend_all_the_same(full):
    looks = plan(full)
    assert looks[-1].n == full
    assert len({look.n for look in looks}) == len(looks)
    assert sum(look.level for look in looks) == pytest.approx(0.05)


def test_before_any_answer_the_first_look_is_wanted_of_everything():
    course = follow(asked(256, a=[], b=[]), plan(256))
    assert (course.taken, course.ask) == ((), {"a": 16, "b": 16})


def test_a_category_of_few_samples_is_asked_for_what_it_has():
    course = follow({"a": Answers([], 256), "own": Answers([], 5)}, plan(256))
    assert course.ask == {"a": 16, "own": 5}


def test_a_look_waits_until_its_first_samples_are_answered():
    course = follow(asked(256, a=column(15), b=column(15)), plan(256))
    assert course.taken == ()


def test_unchanged_categories_are_held_at_half_of_256_samples():
    course = follow(asked(256, a=column(128), b=column(128)), plan(256))
    assert [look.look.n for look in course.taken] == [16, 32, 64, 128]
    assert course.held == {"a", "b"}
    assert [len(look.open) for look in course.taken] == [2, 2, 2, 0]


def test_when_all_is_decided_nothing_more_is_asked():
    course = follow(asked(256, a=column(128, gains=60), b=column(128, gains=40)), plan(256))
    assert (course.lifted, course.held, course.ask) == (True, {"a", "b"}, {})


def test_only_open_categories_are_asked_once_the_composite_is_lifted():
    course = follow(asked(256, a=column(128, gains=100), b=column(128, gains=9, losses=9)), plan(256))
    assert (course.lifted, course.held, course.ask) == (True, {"a"}, {"b": 256})


def test_only_open_categories_are_asked_once_the_composite_is_past_hope():
    course = follow(asked(256, a=column(128), b=column(128, gains=4, losses=9)), plan(256))
    assert (course.lifted, course.held, course.ask) == (False, {"a"}, {"b": 256})


def test_a_clear_loss_ends_it_at_the_look_that_shows_it():
    course = follow(asked(256, a=column(64, losses=40), b=column(64)), plan(256))
    assert course.worse == {"a", "composite"}
    assert [look.look.n for look in course.taken] == [16, 32]
    assert course.ask == {}


def test_a_damaged_model_is_seen_in_the_composite_at_the_first_look():
    course = follow(asked(256, **{name: column(16, losses=6) for name in "abcdefghijklmnopqrs"}), plan(256))
    assert (course.worse, len(course.taken)) == ({"composite"}, 1)


def test_what_the_later_answers_of_a_held_category_are_does_not_undo_it():
    early = [*column(128), *[Fraction(-1)] * 6, *[Fraction(0)] * 122]
    assert follow(asked(256, a=early), plan(256)).held == {"a"}


def test_looks_can_be_taken_up_where_they_were_left():
    whole = asked(256, a=column(256, gains=9, losses=4), b=column(256, losses=8))
    first = follow(asked(256, a=column(256, gains=9, losses=4)[:64], b=column(256, losses=8)[:64]), plan(256))
    assert follow(whole, plan(256), since=first) == follow(whole, plan(256))


def test_one_look_at_everything_has_the_whole_five_percent():
    assert single(40) == (Look(40, 0.05),)
    assert follow(asked(59, a=column(59)), single(59)).held == {"a"}
