"""A log in several files is read as one: closed, packed, damaged, and while that happens."""

import gzip
import os
from datetime import UTC, datetime

import pytest

from cipher_nb.bus import Bus, packed, segments
from cipher_nb.bus.packed import MEMBER_BYTES, pack, unpack_from_end
from cipher_nb.config import BusSettings

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "cipher-state.jsonl"


@pytest.fixture
def bus(path):
    return Bus(path, clock=lambda: NOON)


def numbers(events):
    return [event.fields["number"] for event in events]


def append(bus, *values):
    for number in values:
        assert bus.append("note", number=number)


def names(path):
    return sorted(entry.name for entry in path.parent.iterdir() if "cipher-state" in entry.name)


def test_a_full_file_is_closed_and_a_new_one_begun(path):
    bus = Bus(path, settings=BusSettings(rotate_mb=1))
    for number in range(5):
        assert bus.append("note", number=number, pad="x" * 600_000)
    assert names(path) == ["cipher-state.000001.jsonl", "cipher-state.000002.jsonl", "cipher-state.jsonl"]
    assert numbers(bus.read_state()) == [4, 3, 2, 1, 0]
    assert numbers(bus.read_state(limit=2)) == [4, 3]


def test_a_bus_is_one_file_unless_it_is_told_otherwise(bus, path):
    append(bus, 1, 2)
    assert names(path) == ["cipher-state.jsonl"]


def test_closed_and_packed_segments_are_read_as_one_log(bus, path):
    for start in (0, 3, 6):
        append(bus, start, start + 1, start + 2)
        segments.close(path)
    append(bus, 9)
    made = bus.pack()
    assert [entry.name for entry in made] == ["cipher-state.000002.jsonl.gz", "cipher-state.000001.jsonl.gz"]
    assert names(path) == [
        ".cipher-state.jsonl.segments.lock",
        "cipher-state.000001.jsonl.gz",
        "cipher-state.000002.jsonl.gz",
        "cipher-state.000003.jsonl",
        "cipher-state.jsonl",
    ]
    assert numbers(bus.read_state()) == list(range(9, -1, -1))
    assert numbers(bus.tail().events) == list(range(9, -1, -1))
    assert bus.pack() == []


def test_any_gzip_program_reads_a_packed_segment(bus, path):
    append(bus, 1, 2)
    content = path.read_bytes()
    pack([content], path.with_suffix(".gz"))
    assert gzip.decompress(path.with_suffix(".gz").read_bytes()) == content


def test_a_segment_that_another_program_packed_is_read(bus, path):
    append(bus, 1, 2)
    segments.close(path)
    plain = path.with_name("cipher-state.000001.jsonl")
    plain.with_name(f"{plain.name}.gz").write_bytes(gzip.compress(plain.read_bytes()))
    plain.unlink()
    append(bus, 3)
    assert numbers(bus.read_state()) == [3, 2, 1]


def test_packing_that_was_killed_between_its_two_steps_counts_nothing_twice(bus, path):
    append(bus, 1)
    segments.close(path)
    plain = path.with_name("cipher-state.000001.jsonl")
    pack([plain.read_bytes()], plain.with_name(f"{plain.name}.gz"))
    append(bus, 2)
    assert numbers(bus.read_state()) == [2, 1]


def test_only_what_is_asked_for_is_unpacked(tmp_path):
    target = tmp_path / "a.gz"
    pack((b"x" * 999 + b"\n" for _ in range(3 * MEMBER_BYTES // 1000)), target)
    with target.open("rb") as file:
        blocks = unpack_from_end(file)
        assert len(next(blocks)) < 1.1 * MEMBER_BYTES
        assert len(list(blocks)) == 2


def test_a_damaged_member_costs_its_own_lines_and_is_counted(path, bus):
    lines = [
        b'{"type":"note","number":%d,"pad":"%s"}\n' % (number, os.urandom(300_000).hex().encode())
        for number in range(6)
    ]
    target = path.with_name("cipher-state.000001.jsonl.gz")
    pack(lines, target)
    content = bytearray(target.read_bytes())
    content[len(content) // 2] ^= 0xFF
    target.write_bytes(content)
    append(bus, 6)
    assert numbers(bus.read_state()) == [6, 5, 4, 1, 0]
    assert bus.skipped == 1
    assert packed.DAMAGED not in target.read_bytes()


def test_a_cursor_outlives_the_closing_of_its_file(bus, path):
    append(bus, 1)
    cursor = bus.tail().cursor
    append(bus, 2)
    segments.close(path)
    append(bus, 3)
    segments.close(path)
    assert numbers(bus.read_from(cursor).events) == [2, 3]
    append(bus, 4)
    added = bus.read_from(cursor)
    assert (numbers(added.events), added.afresh) == ([2, 3, 4], False)
    assert numbers(bus.tail(before=cursor).events) == [1]


def test_a_cursor_into_a_packed_segment_begins_afresh(bus, path):
    append(bus, 1)
    cursor = bus.tail().cursor
    segments.close(path)
    append(bus, 2)
    segments.close(path)
    append(bus, 3)
    bus.pack()
    assert bus.read_from(cursor).afresh is True


def test_a_reading_that_has_begun_goes_on_while_segments_are_closed_and_packed(bus, path):
    append(bus, 1, 2)
    segments.close(path)
    append(bus, 3)
    segments.close(path)
    append(bus, 4, 5)
    reading = bus.tail().events
    assert next(reading).fields["number"] == 5
    segments.close(path)
    bus.pack()
    append(bus, 6)
    assert numbers(reading) == [4, 3, 2, 1]


def test_where_only_packed_segments_are_left_they_are_the_log(bus, path):
    append(bus, 1)
    segments.close(path)
    append(bus, 2)
    segments.close(path)
    bus.pack()
    path.with_name("cipher-state.000002.jsonl").unlink()
    tail = bus.tail()
    assert numbers(tail.events) == [1]
    append(bus, 3)
    assert numbers(bus.read_from(tail.cursor).events) == [3]


def test_a_cursor_from_before_the_first_event_sees_all_that_came_in_whatever_files(bus, path):
    cursor = bus.tail().cursor
    append(bus, 1)
    segments.close(path)
    append(bus, 2)
    assert numbers(bus.read_from(cursor).events) == [1, 2]
    assert numbers(bus.tail(before=cursor).events) == []
