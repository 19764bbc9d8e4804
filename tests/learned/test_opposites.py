"""Patterns that say the opposite of each other, patterns that do not, and which of two stays."""

import pytest

from cipher_nb.learned import learned
from cipher_nb.learned.opposites import opposite, stance
from tests.learned.events import preference, votes

OPPOSITE = [
    # negation
    ("Uses tabs", "Never uses tabs"),
    ("Adds type hints", "Avoids type hints"),
    ("Adds type hints", "Avoids adding type hints"),
    ("Adds type hints", "Does not add type hints"),
    ("Adds type hints", "Doesn't add type hints."),
    ("Adds type hints", "without type hints"),
    ("Adds type hints", "No type hints"),
    ("Adds type hints", "Adds no type hints"),
    ("Always uses mocks", "Never uses mocks"),
    ("Prefers mocks", "Prefers not to use mocks"),
    ("Must use uv", "Must not use `uv`"),
    ("Operator uses uv", "Avoids uv"),
    ("Uses the cache", "Does not use any cache"),
    ("Tests handlers", "Never tests handlers"),
    ("Tests handlers", "Does not test handlers"),
    ("Tests handlers", "Avoids testing handlers"),
    ("Global state", "Avoids global state"),
    ("Writes functions with docstrings", "Writes functions without docstrings"),
    ("Uses mocks unless it is slow", "Never uses mocks unless it is slow"),
    # a choice
    ("Prefer X over Y", "Prefer Y over X"),
    ("X instead of Y", "Y rather than X"),
    ("Uses X instead of Y", "Prefers Y over X"),
    ("Uses pathlib, not os.path", "Uses os.path instead of using pathlib"),
    ("Prefers loops to comprehensions", "Prefers comprehensions to loops"),
    ("Operator prefers async/await over promise chains", "Prefers promise chains over async/await"),
    ("Prefers X over Y", "Never prefers X over Y"),
    ("Prefers X over Y in tests", "Prefers Y over X in tests"),
    ("Prefers X over Y in tests", "Uses Y in tests instead of X"),
    # words that exclude each other
    ("Uses tabs", "Uses spaces"),
    ("Indents with tabs", "Indents with spaces"),
    ("Uses single quotes", "Prefers double quotes"),
    ("Uses async in handlers", "Uses sync in handlers"),
    ("Keeps lines short", "Keeps lines long"),
    ("Returns early", "Returns late"),
    ("Prefers tabs over spaces in Makefiles", "Uses spaces in Makefiles"),
]
NOT_OPPOSITE = [
    ("Uses async in handlers", "Uses async in tests"),
    ("Uses async in handlers", "Never uses async in tests"),
    ("Uses async in handlers", "Avoids async"),
    ("Uses tabs in Makefiles", "Uses spaces in Python"),
    ("Uses tabs in Makefiles", "Uses spaces"),
    ("Prefers X over Y", "Prefers Y over X in tests"),
    ("Prefers X over Y", "Prefers X over Z"),
    ("Adds tests", "Adds types"),
    ("Uses pytest", "Uses unittest"),
    # agreement in other words
    ("Never uses tabs", "Uses spaces"),
    ("Never uses X instead of Y", "Uses Y instead of X"),
    ("Never uses mocks", "Avoids mocks"),
    ("Never avoids mocks", "Uses mocks"),
    # both can be followed
    ("Avoids short names", "Avoids long names"),
    ("Never uses tabs", "Never uses spaces"),
    ("Adds async tests", "Adds sync tests"),
    ("Tests async code", "Tests sync code"),
    ("Keeps short functions on one line", "Keeps long functions on one line"),
    ("Uses single dispatch", "Uses double dispatch"),
    ("Uses short-lived branches", "Uses long-lived branches"),
    ("Works with Python 3.11", "Works without Python 3.11"),
    ("Writes temporary files", "Does not keep temporary files"),
    ("Uses mocks", "Does not add mocks"),
    ("Returns tuples instead of lists", "Uses lists instead of tuples"),
    ("Uses List", "Never uses list"),
    ("Uses str", "Avoids string"),
    ("Uses operator overloading", "Never uses overloading"),
    ("Uses overloading", "Avoids operator overloading"),
    ("Prefers X in A over Y in B", "Prefers Y in A over X in B"),
    ("Adds types to functions", "Never adds functions to types"),
    ("Uses Never for unreachable code", "Uses unreachable code"),
    # words that look like a negation
    ("Not only X but also Y", "Only X but also Y"),
    ("Not only X but also Y", "X but also Y"),
    ("Uses X, not only Y", "Uses Y, not only X"),
    ("No more than three arguments", "More than three arguments"),
    ("Does not always use mocks", "Uses mocks"),
    ("Never just catches exceptions", "Just catches exceptions"),
    # too little, or cut off
    ("Never", "Always"),
    ("Uses", "Never uses"),
    ("Uses a name that is long...", "Never uses a name that is long..."),
    ("Uses tabs and spaces", "Uses spaces and tabs"),
    ("X over Y over Z", "Y over X over Z"),
]


def are_opposite(one, other):
    first, second = stance(one), stance(other)
    return bool(first and second and opposite(first, second))


@pytest.mark.parametrize(("one", "other"), OPPOSITE)
def test_these_say_the_opposite(one, other):
    assert are_opposite(one, other)
    assert are_opposite(other, one)


@pytest.mark.parametrize(("one", "other"), NOT_OPPOSITE)
def test_these_do_not(one, other):
    assert not are_opposite(one, other)
    assert not are_opposite(other, one)


@pytest.mark.parametrize("pattern", sorted({each for pair in OPPOSITE + NOT_OPPOSITE for each in pair}))
def test_nothing_says_the_opposite_of_itself(pattern):
    assert not are_opposite(pattern, pattern)


def patterns(events, **rule):
    return [line.pattern for line in learned(events, **rule)]


def test_the_one_approved_last_stays_however_many_votes_the_other_has():
    tabs, spaces = votes("Uses tabs", 9, minute=1), votes("Uses spaces", 3, minute=2)
    assert patterns([*spaces, *tabs]) == ["Uses spaces"]
    assert patterns([*votes("Uses tabs", 1, minute=3), *spaces, *tabs]) == ["Uses tabs"]


def test_newer_is_by_time_where_a_late_writer_stands_last_in_the_log():
    assert patterns([*votes("Uses tabs", 3, minute=1), *votes("Uses spaces", 3, minute=2)]) == ["Uses spaces"]


def test_a_rejection_does_not_make_evidence_newer():
    events = [*votes("Uses tabs", 0, 1, minute=9), *votes("Uses spaces", 3, minute=2), *votes("Uses tabs", 9)]
    assert patterns(events) == ["Uses spaces"]


def test_a_preference_makes_evidence_newer():
    events = [preference("Uses tabs", "prefer", minute=9), *votes("Uses spaces", 3, minute=2), *votes("Uses tabs", 2)]
    assert patterns(events) == ["Uses tabs"]


def test_at_one_moment_the_later_line_of_the_log_is_newer():
    assert patterns([*votes("Uses spaces", 3), *votes("Uses tabs", 3)]) == ["Uses spaces"]
    assert patterns([*votes("Uses tabs", 3), *votes("Uses spaces", 3)]) == ["Uses tabs"]


def test_what_does_not_qualify_puts_nothing_out():
    assert patterns([*votes("Never uses tabs", 2, minute=9), *votes("Uses tabs", 3)]) == ["Uses tabs"]
    assert patterns([*votes("Never uses tabs", 3, 3, minute=9), *votes("Uses tabs", 3)]) == ["Uses tabs"]


def test_the_freed_place_goes_to_the_next_in_rank():
    events = [*votes("Uses spaces", 5, minute=9), *votes("Uses tabs", 6), *votes("third", 4), *votes("fourth", 3)]
    assert patterns(events, limit=2) == ["Uses spaces", "third"]


def test_what_was_put_out_puts_nothing_out_itself():
    events = [*votes("Never uses X", 3, minute=3), *votes("Uses X", 3, minute=2), *votes("No X", 3, minute=1)]
    assert patterns(events) == ["Never uses X", "No X"]


def test_the_same_lines_stay_whatever_the_limit():
    events = [*votes("Uses spaces", 3, minute=9), *votes("Uses tabs", 9), *votes("other", 5)]
    assert patterns(events, limit=1) == ["other"]
    assert patterns(events, limit=2) == ["other", "Uses spaces"]
