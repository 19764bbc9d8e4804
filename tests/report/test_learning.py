"""What is being learned and what nearly is, with the votes, the bound, the newest evidence and the reason."""

from datetime import timedelta

from cipher_nb.learned import explain
from cipher_nb.records import Event
from cipher_nb.report.learning import learned_table, missed_table
from tests.report.frames import HOSTILE, NOON, frame


def votes(pattern, approvals, rejections, minute=0):
    kinds = ["approval"] * approvals + ["rejection"] * rejections
    return [
        Event(kind, NOON + timedelta(minutes=minute + number), f"{pattern[:20]}{number}",
              {"pattern": pattern, "summary": f"change {number}"})
        for number, kind in enumerate(kinds)
    ]  # fmt: skip


def told(events, **rule):
    return explain(reversed(events), **rule), frame(*events)


def test_what_is_learned_stands_with_votes_rate_bound_and_newest_evidence():
    assert learned_table(*told(votes("uses pathlib", 3, 1))).rows == [
        ("uses pathlib", "3", "4", "75%", "30%", "30 Nov 2026, rejected: change 3", "in")
    ]


def test_what_the_budget_drops_is_told_so():
    table = learned_table(*told([*votes("a", 4, 0), *votes("b", 3, 0)]), dropped=["[learned] b"])
    assert [(row[0], row[-1]) for row in table.rows] == [("a", "in"), ("b", "no room")]


def test_evidence_that_is_not_among_the_events_is_told_by_its_day():
    reasons, _ = told(votes("a", 3, 0))
    assert [row[5] for row in learned_table(reasons, frame()).rows] == ["30 Nov 2026"]


def test_a_preference_is_evidence_by_its_direction():
    prefer = Event("preference", NOON + timedelta(hours=1), "p", {"pattern": "a", "direction": "prefer"})
    assert [row[5] for row in learned_table(*told([*votes("a", 3, 0), prefer])).rows] == ["30 Nov 2026, preferred"]


def test_a_pin_needs_no_votes():
    assert learned_table(explain([], pins=["Answers in English"]), frame()).rows == [
        ("Answers in English", "0", "0", "–", "–", "pinned", "in")
    ]


def test_what_nearly_made_it_says_what_it_lacks():
    events = [
        *votes("Uses tabs", 5, 0),
        *votes("Uses spaces", 4, 0, minute=60),
        *votes("Names units", 3, 0),
        *votes("mostly not", 1, 3),
        *votes("twice", 2, 0),
    ]
    reasons, _ = told(events, limit=1)
    assert [(row[0], row[-1]) for row in missed_table(reasons).rows] == [
        ("Names units", "rank 2, 1 enter"),
        ("Uses tabs", "says the opposite of 'Uses spaces', whose evidence is newer"),
        ("mostly not", "approved 25%, 60% is needed"),
        ("twice", "2 of 3 votes"),
    ]
    assert missed_table(reasons).rows[0][1:5] == ("3", "3", "100%", "44%")


def test_no_reason_crowds_out_the_others():
    events = [event for number in range(30) for event in votes(f"p{number:02}", 3, 0)]
    reasons, _ = told([*events, *votes("once", 1, 0)], limit=10)
    rows = missed_table(reasons).rows
    assert [row[0] for row in rows] == ["p10", "p11", "p12", "p13", "once", "16 more"]


def test_without_votes_there_is_a_sentence():
    assert learned_table([], frame())._repr_html_() == "<p>Nothing has been approved 3 times yet.</p>"
    assert missed_table([])._repr_html_() == "<p>No pattern is waiting for more votes.</p>"


def test_hostile_text_is_short_and_inert():
    table = learned_table(*told(votes(HOSTILE, 4, 0)))
    assert "<script" not in table._repr_html_()
    assert max(len(cell) for row in table.rows for cell in row) <= 120
    assert "\u202e" not in repr(table)
