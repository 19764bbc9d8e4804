"""Times, ids, events and turns."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from cipher_nb.records import Event, Turn, format_ts, new_id, parse_ts

MOMENT = datetime(2026, 11, 30, 9, 59, 48, 123_000, tzinfo=UTC)


def test_a_time_is_written_in_utc_with_milliseconds_and_z():
    in_kolkata = MOMENT.astimezone(timezone(timedelta(hours=5, minutes=30)))
    assert format_ts(in_kolkata) == "2026-11-30T09:59:48.123Z"


@pytest.mark.parametrize(
    "written",
    [
        "2026-11-30T09:59:48.123Z",
        "2026-11-30T11:59:48.123+02:00",
        "2026-11-30T09:59:48.123",
        1796032788123,
        1796032788123.0,
    ],
)
def test_one_moment_is_read_from_every_spelling_in_use(written):
    assert parse_ts(written) == MOMENT


@pytest.mark.parametrize("written", [None, "", "yesterday", True, [], float("nan"), float("inf"), 10**30])
def test_what_is_no_time_is_none(written):
    assert parse_ts(written) is None


def test_a_time_that_has_no_utc_is_none():
    assert parse_ts("0001-01-01T00:00:00+14:00") is None


def test_ids_sort_by_time_and_are_unique_within_a_millisecond():
    earlier, later = new_id(MOMENT), new_id(MOMENT + timedelta(milliseconds=1))
    assert earlier < later
    assert len({new_id(MOMENT) for _ in range(1000)}) == 1000
    assert len(earlier) == 22


def test_an_event_is_a_flat_object():
    event = Event("phase", MOMENT, "e1", {"from": "base", "to": "a1", "engine": "llama.cpp"})
    assert event.to_json() == {
        "type": "phase",
        "ts": "2026-11-30T09:59:48.123Z",
        "id": "e1",
        "from": "base",
        "to": "a1",
        "engine": "llama.cpp",
    }


def test_a_null_pattern_or_task_is_an_empty_text_and_not_the_word_none():
    event = Event("approval", MOMENT, fields={"pattern": None, "task": None})
    assert (event.pattern, event.task) == ("", "")


def test_a_turn_is_written_whole():
    turn = Turn("t1", MOMENT, "task1", "chat", ({"role": "user", "content": "hi"},), "hello", adapter="a1")
    assert turn.to_json() == {
        "id": "t1",
        "ts": "2026-11-30T09:59:48.123Z",
        "task": "task1",
        "kind": "chat",
        "messages": [{"role": "user", "content": "hi"}],
        "reply": "hello",
        "model": "",
        "adapter": "a1",
        "attempt": 1,
        "session": "",
        "finish": "stop",
    }
