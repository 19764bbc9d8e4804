"""What the bus tells: the timeline, what nearly was learned, and how often the operator agreed."""

from datetime import UTC, datetime, timedelta

from cipher_nb.learned import learned
from cipher_nb.records import UNDATED, Event
from cipher_nb.report.history import (
    approval_picture,
    approval_rate,
    learned_table,
    nearly_learned,
    nearly_table,
    timeline_chart,
    timeline_picture,
)

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


def votes(pattern, approvals, rejections):
    kinds = ["approval"] * approvals + ["rejection"] * rejections
    return [
        Event(kind, NOON + timedelta(minutes=number), f"{pattern}{number}", {"pattern": pattern})
        for number, kind in enumerate(kinds)
    ]


def test_what_is_learned_is_listed_with_its_votes():
    assert learned_table(learned(votes("uses pathlib", 3, 1))).rows == [
        ("uses pathlib", "3", "4", "75%", "30 Nov 2026")
    ]


def test_what_nearly_made_it_says_what_it_lacks_nearest_first():
    events = [*votes("once", 1, 0), *votes("twice", 2, 0), *votes("mostly not", 1, 3), *votes("learned", 3, 0)]
    assert [(line.pattern, lack) for line, lack in nearly_learned(events)] == [
        ("mostly not", "approved 25% of the time, 60% is needed"),
        ("twice", "1 more vote"),
        ("once", "2 more votes"),
    ]
    assert len(nearly_table(events, limit=2).rows) == 2


def test_the_approval_rate_looks_at_the_last_decisions_only():
    events = list(reversed(votes("x", 2, 3)))
    assert [rate for _, rate in approval_rate(events, window=2)] == [1.0, 1.0, 0.5, 0.0, 0.0]


def test_the_timeline_counts_every_type_and_leaves_undated_events_out():
    events = [*votes("x", 3, 1), Event("deploy", NOON), Event("ship", UNDATED)]
    assert timeline_picture(events).alt == "Events by type over time: 3 approval, 1 rejection, 1 deploy."


def test_a_type_is_never_read_as_a_formula():
    figure = timeline_chart([Event(r"$\bad{", NOON)])
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == ["$\\bad{"]
    assert timeline_picture([Event(r"$\bad{", NOON)])._repr_html_().startswith("<figure")


def test_an_empty_bus_is_a_sentence_everywhere():
    assert learned_table([])._repr_html_() == "<p>Nothing has been approved 3 times yet.</p>"
    assert nearly_table([])._repr_html_() == "<p>No pattern is waiting for more votes.</p>"
    assert timeline_picture([]).alt == "Events by type over time: none yet."
    assert approval_picture([]).alt == "Share of approvals over time: no decision yet."
    assert "<img" in approval_picture([])._repr_html_()
