"""How often the operator agrees: by decision while there are few, by stretches of time when there are many."""

import pytest

from cipher_nb.records import UNDATED, Event
from cipher_nb.report.agreement import agreement, approval_chart, approval_picture
from tests.report.frames import event, every, frame, words_in


def test_after_each_decision_the_share_is_that_of_the_last_twenty():
    events = frame(*every(1, 20, "approval"), *(event("rejection", 20 + number) for number in range(5)))
    found = agreement(events)
    assert found.rates[[0, 19, 20, 24]].tolist() == [1.0, 1.0, 0.95, 0.75]
    assert (round(found.low[-1], 4), round(found.high[-1], 4)) == (0.5313, 0.8881)  # Wilson, 15 of 20
    assert found.newest == "75% of the last 20 decisions"
    assert approval_picture(events).alt == "Share of approvals over time: 75% of the last 20 decisions."


def test_many_decisions_are_shared_out_over_stretches_of_time():
    kinds = ["approval", "approval", "approval", "rejection"]
    events = frame(*(event(kinds[number % 4], 60 * number) for number in range(24 * 28)))
    found = agreement(events)
    assert found.unit == "day"
    assert set(found.rates) == {0.75}
    assert found.newest == "75% in the newest day"
    assert approval_picture(events).caption.startswith("Share of approvals per day; the number is the newest.")


def test_a_stretch_without_a_decision_has_no_share():
    events = frame(*every(1, 200, "approval"), *(event("rejection", 60 * 24 * 3 + number) for number in range(200)))
    assert agreement(events).rates.tolist() == [1.0, 0.0]  # four days, two of them empty


def test_only_approvals_and_rejections_are_decisions():
    events = frame(event("approval"), event("abort", 1), event("preference", 2, direction="avoid"), event("gate", 3))
    assert agreement(events).rates.tolist() == [1.0]


def test_decisions_in_any_order_of_the_log_are_taken_by_time():
    assert agreement(frame(event("rejection", 5), event("approval", 0))).rates.tolist() == [1.0, 0.5]


@pytest.mark.parametrize(
    ("events", "sentence"),
    [
        (frame(), "nothing was approved or rejected yet"),
        (frame(event("gate")), "nothing was approved or rejected yet"),
        (frame(Event("approval", UNDATED)), "no decision tells its time"),
    ],
)
def test_without_decisions_there_is_a_sentence(events, sentence):
    assert words_in(approval_chart(events)) == [sentence]
    assert approval_picture(events).alt == "Share of approvals over time: no decision yet."


def test_the_chart_ends_in_the_newest_share():
    assert "50%" in words_in(approval_chart(frame(event("approval"), event("rejection", 1))))
    assert "33%" in words_in(approval_chart(frame(event("approval"), *every(1, 2, "rejection"))))
