"""What happened, in a sentence and as a timeline: few events, many, none, and such as carry no time or hostile text."""

import warnings
from datetime import UTC, datetime

import pytest

from cipher_nb.records import UNDATED, Event
from cipher_nb.report.history import overview, timeline_chart, timeline_picture
from tests.report.frames import HOSTILE, NOON, event, every, frame, words_in


def test_the_overview_counts_by_type_and_names_the_period():
    events = frame(
        event("ship", -2880), event("approval"), event("approval", 1), event("deploy", 2), event("deploy", 3)
    )
    assert overview(events).text == "5 events from 28 Nov 2026 to 30 Nov 2026: 2 approvals, 1 ship, 2 deploy."


def test_the_overview_says_what_no_chart_over_time_can_show():
    events = frame(Event("gate", UNDATED), event("error"))
    assert overview(events, skipped=2).text == (
        "2 events on 30 Nov 2026: 1 gate, 1 error; 1 without a time, left out where time is an axis; "
        "2 torn or foreign lines passed over."
    )


def test_an_empty_bus_is_a_sentence():
    assert overview(frame()).text == "0 events."
    assert timeline_picture(frame()).alt == "Events by type over time: none yet."
    assert timeline_picture(frame()).caption == ""
    assert words_in(timeline_chart(frame())) == ["no events yet"]


def test_few_events_are_marks_with_their_number():
    events = frame(event("approval"), event("approval", 9), event("rejection", 3))
    words = words_in(timeline_chart(events))
    assert [word for word in words if word in ("approval", "rejection", "2", "1")] == [
        "approval",
        "rejection",
        "2",
        "1",
    ]
    assert timeline_picture(events).caption == "A mark for every event, in UTC; the number is how many there are."
    assert timeline_picture(events).alt == "Events by type over time: 2 approvals, 1 rejection."


@pytest.mark.parametrize(
    ("minutes", "unit"),
    [
        (0.1, "minute"),
        (10, "hour"),
        (60 * 5, "day"),
        (60 * 24, "week"),
        (60 * 24 * 6, "30 days"),
        (60 * 24 * 50, "365 days"),
    ],
)
def test_many_events_are_counted_in_stretches_of_time(minutes, unit):
    events = frame(*every(minutes, 500))
    assert f"per {unit} (UTC)" in timeline_picture(events).caption


def test_each_row_tells_its_number_and_its_highest_bar():
    events = frame(*every(60, 400), event("ship", 60), event("ship", 61), event("ship", 9000))
    words = words_in(timeline_chart(events))
    assert "400, max 24" in words  # a gate an hour, counted by days
    assert "3, max 2" in words


def test_a_hundred_times_as_many_events_make_a_drawing_of_the_same_size():
    few, many = (timeline_picture(frame(*every(60_000 / count, count)))._repr_html_() for count in (400, 40_000))
    assert (len(few), len(many)) == (pytest.approx(12_000, rel=0.2), pytest.approx(12_000, rel=0.2))


def test_types_beyond_the_twelfth_row_are_counted_together():
    events = frame(event("approval"), *(event(f"kind {number:02}", number) for number in range(20)))
    words = words_in(timeline_chart(events))
    assert [word for word in words if word.startswith(("approval", "kind", "others"))] == [
        "approval", *(f"kind {number:02}" for number in range(10)), "others (10 types)"
    ]  # fmt: skip
    assert overview(events).text.endswith("1 kind 09, 10 others (10 types).")


def test_times_before_and_after_this_century_are_no_times():
    far = [Event("gate", datetime(year, 1, 1, tzinfo=UTC)) for year in (1, 1999, 2100, 9999)]
    assert overview(frame(*far, event("gate"))).text == (
        "5 events on 30 Nov 2026: 5 gates; 4 without a time, left out where time is an axis."
    )
    assert words_in(timeline_chart(frame(*far))) == ["no event tells when it happened"]


def test_a_type_is_never_read_as_a_formula_or_markup_and_stays_short():
    events = frame(Event(r"$\bad{<b>$", NOON), Event(HOSTILE, NOON))
    words = words_in(timeline_chart(events))
    assert "$\\bad{&lt;b&gt;$" in words
    assert "&lt;/title&gt;&lt;sc…xxxxxxxx end" in words
    assert "<script" not in overview(events)._repr_html_()
    assert len(overview(events).text) < 120


@pytest.mark.slow
def test_drawing_warns_of_nothing_whatever_the_span_or_the_script():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for minutes in (0, 0.001, 1, 7, 60, 150, 240, 300, 1000, 10_000, 100_000, 10_000_000):
            timeline_picture(frame(Event("漢字 🧨", NOON), event("gate", minutes))).html()
