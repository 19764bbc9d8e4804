"""The rule of the [learned] lines: what counts, what is enough, what falls out, and the order."""

from fractions import Fraction

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cipher_nb.learned import LearnedLine, learned
from cipher_nb.records import UNDATED, Event
from tests.learned.events import NOON, at, preference, votes


def patterns(events, **rule):
    return [line.pattern for line in learned(events, **rule)]


def counts(events, **rule):
    return [(line.pattern, line.approved, line.count) for line in learned(events, **rule)]


def test_a_line_says_what_was_counted():
    events = [*votes("uses pathlib", 1, minute=5), *votes("uses pathlib", 3, 1)]
    assert learned(events) == [LearnedLine("uses pathlib", 4, 5, 0.8, at(5))]
    assert learned(events)[0].line == "[learned] uses pathlib"


def test_two_votes_are_too_few_and_three_are_enough():
    assert patterns([*votes("twice", 2), *votes("thrice", 3)]) == ["thrice"]


@pytest.mark.parametrize(
    ("approvals", "rejections", "is_learned"),
    [
        (3, 2, True),  # 3 of 5 is 0.6 exactly
        (6, 4, True),
        (300, 200, True),
        (59, 41, False),
        (299, 200, False),
        (2, 1, True),
        (1, 1, False),
        (5, 4, False),
    ],
)
def test_sixty_percent_is_enough_and_less_is_not(approvals, rejections, is_learned):
    assert patterns(votes("p", approvals, rejections)) == (["p"] if is_learned else [])


def test_rejections_count_towards_the_three():
    assert patterns(votes("p", 2, 1)) == ["p"]


def test_order_is_approvals_then_recency_then_text():
    events = [
        *votes("b old", 3, minute=1),
        *votes("a old", 3, minute=1),
        *votes("z new", 3, minute=2),
        *votes("y most", 4, minute=0),
        *votes("x rejected lately", 3, minute=0),
        *votes("x rejected lately", 0, 1, minute=3),
    ]
    assert patterns(events) == ["y most", "x rejected lately", "z new", "a old", "b old"]


def test_fifteen_enter_and_the_chat_asks_for_ten():
    events = [event for number in range(20) for event in votes(f"p{number:02}", 3 + number)]
    assert patterns(events) == [f"p{number:02}" for number in range(19, 4, -1)]
    assert patterns(events, limit=10) == [f"p{number:02}" for number in range(19, 9, -1)]


def test_a_preference_counts_by_its_direction():
    liked = [*votes("liked", 2), preference("liked", "prefer")]
    avoided = [*votes("avoided", 2), preference("avoided", "avoid"), preference("avoided", "avoid")]
    unclear = [*votes("unclear", 2), preference("unclear", "sideways"), preference("unclear", ["prefer"])]
    assert counts([*liked, *avoided, *unclear]) == [("liked", 3, 3)]


def test_other_events_and_empty_patterns_teach_nothing():
    other = [Event(kind, NOON, fields={"pattern": "p"}) for kind in ("abort", "ship", "gate", "note")]
    assert patterns([*other * 3, *votes("", 5), *votes(" \n", 5), *votes(None, 5), *votes(7, 5)]) == []


def test_the_501st_approval_and_the_501st_rejection_from_the_end_fall_out():
    fresh, old = votes("fresh", 498, 497), votes("old", 3, 3)
    assert counts([*fresh, *old], min_rate=0.0) == [("fresh", 498, 995), ("old", 2, 5)]
    assert counts([*votes("fresh", 500, 500), *old], min_rate=0.0) == [("fresh", 500, 1000)]


def test_preferences_take_their_place_among_the_500():
    fresh = [preference("fresh", "prefer")] * 250 + votes("fresh", 248)
    assert counts([*fresh, *votes("old", 3)], min_count=1) == [("fresh", 498, 498), ("old", 2, 2)]
    assert counts([*[preference("off", "avoid")] * 499, *votes("old", 3, 3)]) == [("old", 3, 4)]


def test_votes_without_a_pattern_take_their_place_as_well():
    assert counts([*votes("", 498), *votes("p", 3)], min_count=1) == [("p", 2, 2)]


def test_newest_is_what_stands_last_in_the_log_whatever_its_time():
    late_writer = [*votes("in order", 500, minute=1), *votes("clock ahead", 3, minute=90)]
    assert patterns(late_writer) == ["in order"]
    undated = [Event("approval", UNDATED, fields={"pattern": "undated"})] * 3
    assert patterns([*undated, *votes("dated", 500)]) == ["dated", "undated"]


def test_patterns_that_look_alike_are_one_pattern():
    events = [*votes("uses pathlib", 1), *votes("uses  pathlib\n", 1), *votes("uses\u200b pathlib", 1)]
    assert counts(events) == [("uses pathlib", 3, 3)]


def reference(events, min_count, limit, min_rate):
    """The rule once more, word by word."""
    directions = {"prefer": "approval", "avoid": "rejection"}
    room = {"approval": 500, "rejection": 500}
    table = {}
    for event in events:
        kind = directions.get(event.fields.get("direction")) if event.type == "preference" else event.type
        if room.get(kind, 0) == 0:
            continue
        room[kind] -= 1
        row = table.setdefault(event.fields["pattern"], {"approval": 0, "rejection": 0, "newest": event.ts})
        row[kind] += 1
        row["newest"] = max(row["newest"], event.ts)
    best = []
    while table and len(best) < limit:
        top = min(table, key=lambda text: (-table[text]["approval"], -table[text]["newest"].timestamp(), text))
        row = table.pop(top)
        count = row["approval"] + row["rejection"]
        if top and count >= min_count and Fraction(row["approval"], count) >= min_rate:
            best.append((top, row["approval"], count, row["newest"]))
    return best


def expand(runs):
    """Runs of equal votes, so that few numbers reach past the window of 500."""
    made = []
    for kind, pattern, repeat, minute in runs:
        each = (
            preference(pattern, kind, minute=minute)
            if kind in ("prefer", "avoid")
            else Event(kind, at(minute), fields={"pattern": pattern})
        )
        made += [each] * repeat
    return made


run = st.tuples(
    st.sampled_from(["approval", "approval", "rejection", "prefer", "avoid", "ship"]),
    st.sampled_from(["a", "b", "c", "d", "e", ""]),
    st.integers(1, 4) | st.integers(150, 400),
    st.integers(0, 3),
)
rates = st.sampled_from([Fraction(0), Fraction(1, 2), Fraction(3, 5), Fraction(4, 5), Fraction(1)])


@given(st.lists(run, max_size=12).map(expand), st.integers(1, 5), st.integers(0, 4), rates)
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_the_rule_equals_the_reference(events, min_count, limit, min_rate):
    found = learned(events, min_count=min_count, limit=limit, min_rate=float(min_rate))
    assert [(line.pattern, line.approved, line.count, line.newest) for line in found] == reference(
        events, min_count, limit, min_rate
    )
