"""Where stretches of time begin, and that every event is counted in one."""

from datetime import UTC, datetime

import numpy as np

from cipher_nb.report.spans import Bins, milliseconds
from tests.report.frames import event, every, frame


def begins(bins):
    return datetime.fromtimestamp(bins.first_ms / 1000, UTC)


def test_weeks_begin_on_monday_and_days_at_midnight():
    times = milliseconds(frame(*every(60 * 24, 20)))  # from noon on 30 November 2026, a Monday, on
    assert begins(Bins.over(times)) == datetime(2026, 11, 30, tzinfo=UTC)
    weeks = Bins.over(times[2:], most=3)
    assert (weeks.unit, weeks.count, begins(weeks)) == ("week", 3, datetime(2026, 11, 30, tzinfo=UTC))


def test_every_event_is_counted_once_also_those_on_an_edge():
    times = milliseconds(frame(*every(60 * 12, 21)))
    bins = Bins.over(times)
    assert bins.unit == "day"
    assert bins.counted(times).tolist() == [1] + [2] * 10


def test_one_moment_is_one_stretch():
    bins = Bins.over(milliseconds(frame(event("gate"), event("gate"))))
    assert (bins.unit, bins.counted(np.array([bins.first_ms])).tolist()) == ("minute", [1])
