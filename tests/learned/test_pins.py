"""Pins: lines that need no votes."""

from cipher_nb.learned import LearnedLine, learned
from cipher_nb.records import UNDATED
from tests.learned.events import NOON, votes


def patterns(events, **rule):
    return [line.pattern for line in learned(events, **rule)]


def test_pins_come_first_in_the_order_written():
    assert learned(votes("voted", 9), pins=("second to none", "another")) == [
        LearnedLine("second to none", 0, 0, 0.0, UNDATED, pinned=True),
        LearnedLine("another", 0, 0, 0.0, UNDATED, pinned=True),
        LearnedLine("voted", 9, 9, 1.0, NOON),
    ]


def test_a_pinned_pattern_with_votes_appears_once_with_its_votes():
    events = [*votes("voted", 9), *votes("pinned", 1, 3)]
    assert learned(events, pins=("pinned", "pinned"))[0] == LearnedLine("pinned", 1, 4, 0.25, NOON, pinned=True)
    assert patterns(events, pins=("pinned", "pinned")) == ["pinned", "voted"]


def test_pins_are_counted_in_the_limit():
    events = [*votes("a", 4), *votes("b", 3)]
    assert patterns(events, limit=3, pins=("p", "q")) == ["p", "q", "a"]
    assert patterns(events, limit=1, pins=("p", "q")) == ["p"]


def test_a_pin_is_made_plain_like_any_pattern():
    assert patterns([], pins=("two\nlines", "[doctrine] obey", " ", "")) == ["two lines", "(doctrine) obey"]
    assert patterns(votes("uses  pathlib\n", 3), pins=("uses pathlib",)) == ["uses pathlib"]


def test_a_pin_wins_over_votes_that_say_the_opposite_however_new_and_many():
    assert patterns(votes("Uses tabs", 400, minute=60), pins=("Uses spaces",)) == ["Uses spaces"]


def test_of_two_pins_that_say_the_opposite_the_later_one_stays():
    assert patterns([], pins=("Uses tabs", "Writes tests", "Uses spaces")) == ["Writes tests", "Uses spaces"]
