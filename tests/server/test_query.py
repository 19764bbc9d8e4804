"""What clients may send, and the sentence they get for anything else."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from cipher_nb.errors import RequestError
from cipher_nb.server.query import learned_limits, no_parameters, state_filters, task_id

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
TEN = datetime(2026, 11, 30, 10, tzinfo=UTC)


def test_nothing_asked_is_the_newest_hundred() -> None:
    nothing = {"type": None, "since": None, "until": None, "task": None, "session": None, "limit": 100}
    assert state_filters({}, NOON) == nothing


def test_everything_asked_is_passed_on() -> None:
    asked = {"type": ["ship", "gate"], "task": ["t"], "session": ["s"], "limit": ["1000"], "token": ["sesame"]}
    expected = {"type": ["ship", "gate"], "since": None, "until": None, "task": "t", "session": "s", "limit": 1000}
    assert state_filters(asked, NOON) == expected


@pytest.mark.parametrize(
    "text",
    ["2h", "120m", "2026-11-30T10:00:00Z", "2026-11-30T11:00:00+01:00", "2026-11-30 10:00", "1796032800000"],
)
def test_a_time_is_rfc_3339_epoch_milliseconds_or_a_duration(text: str) -> None:
    filters = state_filters({"since": [text], "until": [text]}, NOON)
    assert (filters["since"], filters["until"]) == (TEN, TEN)


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({"limit": ["0"]}, "limit = '0' is not a whole number from 1 to 1000; the default is 100"),
        ({"limit": ["1001"]}, "limit = '1001' is not a whole number from 1 to 1000; the default is 100"),
        ({"limit": ["-5"]}, "limit = '-5' is not"),
        ({"limit": ["1e2"]}, "limit = '1e2' is not"),
        ({"limit": ["9" * 5000]}, "limit = '999"),
        ({"limit": ["1", "2"]}, "limit = '1', '2' is given 2 times; give it once"),
        ({"limit": [""]}, "limit = '' is not"),
        ({"since": ["yesterday"]}, "since = 'yesterday' is no time; give RFC 3339 (a + in it as %2B), epoch"),
        ({"until": ["2026-11-30T10:00:00 01:00"]}, "until = '2026-11-30T10:00:00 01:00' is no time"),
        ({"since": ["9" * 400 + "d"]}, "since = '999"),
        ({"since": ["999999d"]}, "since = '999999d' is no time"),
        ({"since": ["9" * 18]}, "since = '999999999999999999' is no time"),
        ({"sinse": ["2h"]}, "sinse = '2h' is unknown; did you mean since?"),
        ({"x": ["1"]}, "x = '1' is unknown; known: type, since, until, task, session, limit"),
    ],
)
def test_anything_else_names_parameter_value_and_way_out(asked: Any, sentence: str) -> None:
    with pytest.raises(RequestError) as refused:
        state_filters(asked, NOON)
    assert str(refused.value).startswith(sentence)


def test_other_endpoints_are_as_strict() -> None:
    assert learned_limits({"min_count": ["2"]}) == {"min_count": 2, "limit": 15}
    with pytest.raises(RequestError, match="min_count = 'two' is not a whole number from 1 to 1000; the default is 3"):
        learned_limits({"min_count": ["two"]})
    with pytest.raises(RequestError, match="limit = '1' is unknown; this endpoint takes no parameters"):
        no_parameters({"limit": ["1"]})


@pytest.mark.parametrize("header", ["a", "A9" * 32])
def test_a_task_is_up_to_64_letters_and_digits(header: str) -> None:
    assert task_id(header) == header


@pytest.mark.parametrize("header", ["", "a" * 65, "a-b", "../a", "a,b", "é", "a\n"])
def test_any_other_task_is_refused(header: str) -> None:
    with pytest.raises(RequestError, match="is no task id; give 1 to 64 letters and digits"):
        task_id(header)


def test_no_header_is_a_new_task() -> None:
    assert task_id(None) is None
