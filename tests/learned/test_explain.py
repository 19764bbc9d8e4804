"""Why a pattern is in or out: every reason, the order, and the bound."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest

from cipher_nb.learned import Explained, explain, learned
from cipher_nb.learned.explain import wilson_low
from cipher_nb.records import Event
from tests.learned.events import NOON, at, votes


def reasons(events, **rule):
    return [(reason.pattern, reason.why) for reason in explain(events, **rule)]


def test_a_pattern_with_its_votes_its_bound_and_its_newest_evidence():
    newest = Event("rejection", at(7), "0007", {"pattern": "Uses pathlib"})
    older = Event("approval", NOON, "0001", {"pattern": "Uses pathlib"})
    (reason,) = explain([newest, older, older, older])
    assert reason == Explained(
        pattern="Uses pathlib",
        approved=3,
        count=4,
        rate=0.75,
        wilson_low=pytest.approx(0.3006, abs=5e-5),
        newest=at(7),
        newest_id="0007",
        enters=True,
        why="in, rank 1",
    )


def test_every_reason_in_order_what_enters_then_what_nearly_does_then_the_rest():
    events = [
        *votes("Uses spaces", 3, minute=9),
        *votes("Uses tabs", 8),
        *votes("Names units", 5),
        *votes("Half of the time", 3, 3),
        *votes("Turned down", 0, 4),
        *votes("Almost seen", 2),
        *votes("Hardly seen", 1, 1),
        *votes("Seen once", 0, 1),
        *votes("Fourth", 4),
    ]
    assert reasons(events, limit=3, pins=("Answers in English",)) == [
        ("Answers in English", "pinned"),
        ("Names units", "in, rank 2"),
        ("Fourth", "in, rank 3"),
        ("Uses spaces", "rank 4, 3 enter"),
        ("Uses tabs", "says the opposite of 'Uses spaces', whose evidence is newer"),
        ("Half of the time", "approved 50 %, 60 % is needed"),
        ("Turned down", "approved 0 %, 60 % is needed"),
        ("Almost seen", "2 of 3 votes"),
        ("Hardly seen", "2 of 3 votes; approved 50 %, 60 % is needed"),
        ("Seen once", "1 of 3 votes; approved 0 %, 60 % is needed"),
    ]
    assert [reason.enters for reason in explain(events, limit=3)] == [True] * 3 + [False] * 6


def test_what_pins_do_to_others_and_to_each_other():
    events = votes("Uses tabs", 5)
    assert reasons(events, pins=("Never uses X", "Uses X", "Uses spaces"), limit=1) == [
        ("Uses X", "pinned"),
        ("Uses spaces", "rank 2, 1 enter"),
        ("Uses tabs", "says the opposite of 'Uses spaces', which is pinned"),
        ("Never uses X", "says the opposite of 'Uses X', which is pinned later"),
    ]


def test_the_sixteenth_is_told_that_fifteen_enter():
    events = [event for number in range(17) for event in votes(f"p{number:02}", 20 - number)]
    assert reasons(events)[14:] == [
        ("p14", "in, rank 15"),
        ("p15", "rank 16, 15 enter"),
        ("p16", "rank 17, 15 enter"),
    ]


def test_a_rate_just_under_the_threshold_is_not_rounded_up_to_it():
    assert reasons(votes("p", 299, 200)) == [("p", "approved 59.9 %, 60 % is needed")]
    assert reasons(votes("p", 1, 2), min_rate=0.55) == [("p", "approved 33.3 %, 55 % is needed")]


def test_a_pin_without_votes_has_no_newest_evidence():
    (reason,) = explain([], pins=("Answers in English",))
    assert (reason.newest, reason.newest_id, reason.count, reason.rate, reason.wilson_low) == (None, "", 0, 0.0, 0.0)


def test_nothing_is_explained_of_an_empty_log():
    assert explain([]) == []


@pytest.mark.parametrize(
    ("approved", "count", "low"),
    [(0, 0, 0.0), (0, 3, 0.0), (3, 3, 0.4385), (9, 10, 0.5958), (1, 1, 0.2065), (60, 100, 0.5020), (500, 500, 0.9924)],
)
def test_the_lower_bound_is_that_of_wilson(approved, count, low):
    assert wilson_low(approved, count) == pytest.approx(low, abs=5e-5)


@given(st.integers(1, 1000).flatmap(lambda count: st.tuples(st.integers(0, count), st.just(count))))
@settings(max_examples=50, deadline=None)
def test_the_lower_bound_is_that_of_scipy(votes):
    theirs = binomtest(*votes).proportion_ci(confidence_level=0.95, method="wilson").low
    assert wilson_low(*votes) == pytest.approx(theirs, abs=1e-12)


vote = st.tuples(
    st.sampled_from(["Uses tabs", "Uses spaces", "Never uses tabs", "a", "b"]), st.booleans(), st.integers(0, 3)
)


@given(st.lists(vote, max_size=40), st.integers(0, 4), st.lists(st.sampled_from(["Uses tabs", "a", "c"]), max_size=2))
@settings(max_examples=100, deadline=None)
def test_what_is_said_to_enter_is_what_is_learned(cast, limit, pins):
    events = [event for text, approves, minute in cast for event in votes(text, approves, not approves, minute=minute)]
    entering = [reason.pattern for reason in explain(events, limit=limit, pins=pins) if reason.enters]
    assert entering == [line.pattern for line in learned(events, limit=limit, pins=pins)]
