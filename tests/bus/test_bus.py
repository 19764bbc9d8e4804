"""The state bus: what is written, what is read back, and what survives damage and company."""

from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cipher_nb.bus import Bus
from cipher_nb.masking import Masker
from cipher_nb.records import UNDATED, Event

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
APPROVAL = {"tool": "edit", "pattern": "uses pathlib", "summary": "rewrote loader.py"}


@pytest.fixture
def path(tmp_path):
    return tmp_path / ".aide" / "cipher-state.jsonl"


@pytest.fixture
def bus(path):
    return Bus(path, clock=lambda: NOON)


def lines_of(path):
    return [orjson.loads(line) for line in path.read_bytes().splitlines()]


def write(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def types(events):
    return [event.type for event in events]


def bytes_read():
    counters = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
    return int(counters["rchar"])


def test_an_event_stands_on_one_flat_line_with_time_and_id(bus, path):
    assert bus.append("approval", **APPROVAL, task="t1") is True
    (row,) = lines_of(path)
    assert len(row.pop("id")) == 22
    assert row == {
        "type": "approval",
        "ts": "2026-11-30T12:00:00.000Z",
        "tool": "edit",
        "pattern": "uses pathlib",
        "summary": "rewrote loader.py",
        "task": "t1",
    }


def test_unknown_types_and_extra_keys_are_kept(bus):
    assert bus.append("deploy", target="prod", nested={"a": [1, None, "ü"]})
    assert bus.append("phase", **{"from": "base", "to": "a1", "engine": "llama.cpp", "colour": "red"})
    assert [dict(event.fields) for event in bus.read_state()] == [
        {"from": "base", "to": "a1", "engine": "llama.cpp", "colour": "red"},
        {"target": "prod", "nested": {"a": [1, None, "ü"]}},
    ]


@pytest.mark.parametrize(
    "ts",
    [
        "2026-11-29T08:00:00.123Z",
        "2026-11-29T09:00:00.123+01:00",
        1795939200123,
        datetime(2026, 11, 29, 8, 0, 0, 123_000, tzinfo=UTC),
        datetime(2026, 11, 29, 9, 0, 0, 123_999, tzinfo=timezone(timedelta(hours=1))),
    ],
)
def test_a_given_time_and_id_are_written_in_the_one_form(bus, path, ts):
    assert bus.append("ship", ts=ts, id="e1", commit_sha="abc", files_count=1, intent="fix")
    assert lines_of(path) == [
        {
            "type": "ship",
            "ts": "2026-11-29T08:00:00.123Z",
            "id": "e1",
            "commit_sha": "abc",
            "files_count": 1,
            "intent": "fix",
        }
    ]


def test_a_missing_field_leaves_an_error_event_that_names_it(bus):
    assert bus.append("gate", gate="tests", duration_ms=5) is False
    (event,) = bus.read_state()
    assert event.type == "error"
    assert event.fields == {
        "source": "bus",
        "message": "gate event without passed was not written; give every field of its type",
    }
    assert bus.dropped == 1


@pytest.mark.parametrize(
    ("type", "fields", "named"),
    [
        ("error", {"source": "x"}, "message"),
        ("gate", {"gate": "tests", "passed": "yes", "duration_ms": 5}, "passed is true or false"),
        ("gate", {"gate": "tests", "passed": True, "duration_ms": -1}, "duration_ms is a number from 0 up"),
        ("gate", {"gate": "tests", "passed": True, "duration_ms": float("nan")}, "duration_ms is a number from 0 up"),
        ("gate", {"gate": None, "passed": True, "duration_ms": 1}, "gate is a text"),
        ("ship", {"commit_sha": "a", "files_count": True, "intent": ""}, "files_count is a number from 0 up"),
        ("preference", {"pattern": "p", "direction": "up"}, "direction is one of prefer, avoid"),
        ("approval", {"tool": "edit", "pattern": ["p"], "summary": ""}, "approval event with pattern ['p']"),
        ("approval", {"tool": "x" * 9_999, "pattern": 7, "summary": ""}, "pattern is a text"),
        ("note", {"ts": "yesterday"}, "'yesterday'"),
        ("note", {"ts": None}, "None"),
        ("note", {"id": 7}, "7"),
        ("note", {"type": "other"}, "'note'"),
        ("", {}, "''"),
        (None, {}, "None"),
    ],
)
def test_an_event_that_is_none_is_not_written_and_says_why(bus, type, fields, named):
    assert bus.append(type, **fields) is False
    (event,) = bus.read_state()
    assert event.type == "error"
    assert named in event.fields["message"]


def _endless():
    endless = []
    endless.append(endless)
    return endless


@pytest.mark.parametrize(
    "value",
    [{1, 2}, b"bytes", Path("x"), NOON, float("nan"), float("inf"), 2**64, {1: 2}, "\ud800", _endless(), object()],
)
def test_a_value_that_is_no_json_is_dropped_and_counted(bus, path, value):
    assert bus.append("note", value=[value]) is False
    assert bus.dropped == 1
    assert not path.exists()


def test_append_does_not_raise_when_the_folder_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("")
    bus = Bus(tmp_path / "file" / "bus.jsonl")
    assert bus.append("note") is False
    assert bus.dropped == 1


def test_append_says_no_when_the_disk_is_full(tmp_path):
    path = tmp_path / "bus.jsonl"
    path.symlink_to("/dev/full")
    bus = Bus(path)
    assert bus.append("note") is False
    assert bus.dropped == 1


def test_a_missing_file_has_no_events(bus):
    assert bus.read_state() == []
    assert list(bus.tail().events) == []


def test_events_come_newest_first_and_filtered(bus):
    for number in range(4):
        bus.append("ship", commit_sha=str(number), files_count=number, intent="", ts=NOON + timedelta(hours=number))
        bus.append("approval", **APPROVAL, task=f"t{number % 2}", ts=NOON + timedelta(hours=number))
    assert types(bus.read_state(limit=3)) == ["approval", "ship", "approval"]
    assert [event.fields["commit_sha"] for event in bus.read_state(type="ship")] == ["3", "2", "1", "0"]
    assert [event.fields["commit_sha"] for event in bus.read_state(type="ship", limit=2)] == ["3", "2"]
    assert len(bus.read_state(type={"ship", "approval"})) == 8
    assert bus.read_state(type=()) == []
    assert bus.read_state(limit=0) == []
    assert [event.ts.hour for event in bus.read_state(task="t1")] == [15, 13]


def test_events_are_asked_for_by_session_and_until(bus):
    for number in range(4):
        bus.append("note", number=number, session=f"s{number % 2}", ts=NOON + timedelta(hours=number))
    assert [event.fields["number"] for event in bus.read_state(session="s1")] == [3, 1]
    assert [event.fields["number"] for event in bus.read_state(until=NOON + timedelta(hours=2))] == [1, 0]
    between = bus.read_state(since=NOON + timedelta(hours=1), until=NOON + timedelta(hours=3), type="note")
    assert [event.fields["number"] for event in between] == [2, 1]


@pytest.mark.parametrize(
    "line",
    [
        rb'{"type":"appro\u0076al","task":"t1"}',
        rb'{ "task" : "\u0074\u0031" , "type" : "approval" }',
        b'{"type":"approval","task":"t1","text":"\\\\users"}',
    ],
)
def test_a_word_is_found_however_another_program_spells_it(bus, path, line):
    write(path, b'{"type":"other"}\n' + line + b"\n")
    assert types(bus.read_state(type="approval")) == ["approval"]
    assert types(bus.read_state(task="t1")) == ["approval"]
    assert types(bus.read_state(type="approval", since=NOON)) == []


@pytest.mark.parametrize("word", ["a/b", 'a"b', "ü", "a b", "a\\b", "\n"])
def test_a_task_of_any_text_is_found(bus, word):
    bus.append("note", task=word)
    bus.append("note", task="other")
    assert [event.task for event in bus.read_state(task=word)] == [word]


def test_a_type_that_stands_elsewhere_in_a_line_is_not_taken_for_its_type(bus):
    bus.append("note", text="approval", task="approval")
    assert bus.read_state(type="approval") == []


def test_since_includes_its_own_moment(bus):
    for number in range(3):
        bus.append("note", number=number, ts=NOON + timedelta(milliseconds=number))
    since = NOON + timedelta(milliseconds=1)
    assert [event.fields["number"] for event in bus.read_state(since=since)] == [2, 1]
    local = since.astimezone().replace(tzinfo=None)
    assert [event.fields["number"] for event in bus.read_state(since=local)] == [2, 1]


def test_since_finds_lines_that_stand_out_of_order(bus):
    for hours in (0, 5, 1, 6, 2):
        bus.append("note", hours=hours, ts=NOON + timedelta(hours=hours))
    found = bus.read_state(since=NOON + timedelta(hours=4))
    assert [event.fields["hours"] for event in found] == [6, 5]


def test_since_reads_on_while_newer_lines_turn_up(bus, path):
    old, new = b'{"type":"old","ts":0,"pad":"' + b"x" * 30_000 + b'"}\n', b'{"type":"new","ts":"2026-11-30T12:00Z"}\n'
    write(path, new + old * 4 + new + old * 2 + new + old * 2)
    assert types(bus.read_state(since=NOON)) == ["new", "new"]


def test_lines_of_other_programs_are_read(bus, path):
    write(
        path,
        b'{"type":"approval","tool":"edit","path":"src/a.py","decision":"approved"}\n'
        b'{"type":"rejection","tool":"edit","path":"b.py","reason":"too long","ts":1796040000000}\n'
        b'{"type":"rejection","pattern":"p","summary":"s","path":"b.py","reason":"r","ts":"soon","id":9}\r\n'
        b'{"type":"ship","path":"b.py","reason":"r"}\n',
    )
    assert bus.read_state() == [
        Event("ship", UNDATED, "", {"path": "b.py", "reason": "r"}),
        Event("rejection", UNDATED, "9", {"pattern": "p", "summary": "s", "path": "b.py", "reason": "r"}),
        Event(
            "rejection",
            NOON,
            "",
            {"tool": "edit", "path": "b.py", "reason": "too long", "pattern": "b.py", "summary": "too long"},
        ),
        Event(
            "approval",
            UNDATED,
            "",
            {"tool": "edit", "path": "src/a.py", "decision": "approved", "pattern": "src/a.py", "summary": "approved"},
        ),
    ]
    assert bus.skipped == 0


def test_a_line_without_a_time_is_returned_unless_since_is_asked(bus, path):
    write(path, b'{"type":"note"}\n')
    assert types(bus.read_state()) == ["note"]
    assert bus.read_state(since=NOON - timedelta(days=10_000)) == []


def test_foreign_and_torn_lines_are_skipped_and_counted(bus, path):
    write(path, b'hello\n{"type":7}\n{"type":""}\n{}\n[1]\n\xff\xfe\n\0\0\n\n \n{"type":"note"}\n{"type":"sh')
    assert types(bus.read_state()) == ["note"]
    assert bus.skipped == 8


def test_a_line_longer_than_a_block_is_read(bus):
    bus.append("note", text="first")
    bus.append("note", text="x" * 200_000)
    bus.append("note", text="last")
    assert [len(event.fields["text"]) for event in bus.read_state()] == [4, 200_000, 5]


@pytest.mark.parametrize("length", range(65_530, 65_543))
def test_a_line_that_ends_at_a_block_border_is_read(bus, path, length):
    head, tail = b'{"type":"a"}\n', b'{"type":"b","x":""}\n'
    write(path, head + tail.replace(b'""', b'"' + b"x" * (length - len(tail)) + b'"'))
    assert types(bus.read_state()) == ["b", "a"]
    assert bus.skipped == 0


@pytest.fixture(scope="module")
def big_log(tmp_path_factory):
    path = tmp_path_factory.mktemp("big") / "bus.jsonl"
    with path.open("wb") as file:
        for minute in range(100_000):
            ts = (NOON + timedelta(minutes=minute)).isoformat()
            kind = "ship" if minute == 0 else "note"
            file.write(orjson.dumps({"type": kind, "ts": ts, "minute": minute, "pad": "x" * 150}) + b"\n")
    return path


def test_the_cost_of_a_read_follows_what_is_returned(big_log):
    bus = Bus(big_log)
    assert big_log.stat().st_size > 20_000_000
    costs = []
    for query in ({"limit": 1}, {"limit": 1000}, {"since": NOON + timedelta(minutes=99_000)}):
        before = bytes_read()
        bus.read_state(**query)
        costs.append(bytes_read() - before)
    assert costs[0] < 70_000
    assert costs[1] < 400_000
    assert costs[2] < 500_000


def test_a_rare_type_in_the_last_days_does_not_read_the_years_before(big_log):
    before = bytes_read()
    assert Bus(big_log).read_state(type="ship", since=NOON + timedelta(minutes=99_000)) == []
    assert bytes_read() - before < 500_000


def test_a_read_that_must_look_everywhere_finds_the_first_line(big_log):
    assert [event.fields["minute"] for event in Bus(big_log).read_state(type="ship")] == [0]


def test_reading_on_costs_what_was_added(big_log):
    bus = Bus(big_log)
    cursor = bus.tail().cursor
    before = bytes_read()
    added = bus.read_from(cursor)
    assert bytes_read() - before < 10_000
    assert (added.events, added.cursor, added.afresh) == ([], cursor, False)


def test_reading_on_returns_only_what_is_new_oldest_first(bus):
    start = bus.tail().cursor
    bus.append("a")
    bus.append("b")
    added = bus.read_from(start)
    assert types(added.events) == ["a", "b"]
    bus.append("c")
    added = bus.read_from(added.cursor)
    assert types(added.events) == ["c"]
    assert bus.read_from(added.cursor).events == []


def test_a_tail_is_what_stands_before_its_cursor_whatever_is_added_meanwhile(bus):
    bus.append("a")
    bus.append("b")
    tail = bus.tail()
    bus.append("c")
    assert types(tail.events) == ["b", "a"]
    assert types(bus.read_from(tail.cursor).events) == ["c"]
    assert types(bus.tail(type="a", before=tail.cursor).events) == ["a"]


def test_a_torn_last_line_is_left_for_the_next_call(bus, path):
    write(path, b'{"type":"a"}\n{"type":')
    tail = bus.tail()
    assert (types(tail.events), bus.skipped) == (["a"], 0)
    assert bus.read_from(tail.cursor).events == []
    with path.open("ab") as file:
        file.write(b'"b"}\n')
    assert types(bus.read_from(tail.cursor).events) == ["b"]


@pytest.mark.parametrize(
    "replace", [Path.write_bytes, lambda path, content: (path.unlink(), path.write_bytes(content))]
)
def test_another_file_in_its_place_is_noticed(bus, path, replace):
    write(path, b'{"type":"a"}\n{"type":"b"}\n')
    cursor = bus.tail().cursor
    replace(path, b'{"type":"c"}\n{"type":"d"}\n{"type":"e"}\n')
    added = bus.read_from(cursor)
    assert (added.events, added.afresh) == ([], True)


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
no_secrets = Masker()
extra_fields = st.dictionaries(
    st.text().filter(lambda key: key not in ("type", "ts", "id")), json_values, max_size=5
).filter(lambda fields: no_secrets.value(fields) == fields)
offsets = st.sampled_from([UTC, timezone(timedelta(hours=-9, minutes=-30)), timezone(timedelta(hours=14))])
moments = st.datetimes(datetime(1971, 1, 1), datetime(2200, 1, 1), timezones=offsets)


@given(st.lists(st.tuples(st.text(min_size=1), extra_fields, moments), min_size=1, max_size=4))
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_whatever_is_json_and_no_secret_comes_back_as_it_was_given(tmp_path, written):
    path = tmp_path / "bus.jsonl"
    path.unlink(missing_ok=True)
    bus = Bus(path)
    known = {"approval", "rejection", "abort", "ship", "gate", "phase", "preference", "error"}
    given_events = [(f"x-{kind}" if kind in known else kind, fields, ts) for kind, fields, ts in written]
    assert all(bus.append(kind, ts=ts, **fields) for kind, fields, ts in given_events)
    found = bus.read_state()[::-1]
    assert [(event.type, event.fields) for event in found] == [(kind, fields) for kind, fields, _ in given_events]
    for event, (_, _, ts) in zip(found, given_events, strict=True):
        assert timedelta(0) <= ts - event.ts < timedelta(milliseconds=1)
    assert list(bus.tail().events) == found[::-1]
