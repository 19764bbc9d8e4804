"""The learned lines of a log that grows: always those of the whole log, at the cost of what is new."""

import json
import threading
import uuid
from types import SimpleNamespace

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cipher_nb.bus import Bus
from cipher_nb.learned import LearnedView, explain, learned

PATTERNS = ["Uses tabs", "Uses spaces", "a", "b", ""]


class Recorder:
    """The real bus, and which of its doors were used."""

    def __init__(self, bus):
        self.bus = bus
        self.asked = []

    def tail(self, *, type, before=None):
        self.asked.append(f"tail of {', '.join(sorted(type))}")
        return self.bus.tail(type=type, before=before)

    def read_from(self, cursor):
        added = self.bus.read_from(cursor)
        self.asked.append("afresh" if added.afresh else f"{len(added.events)} new")
        return added


def vote(bus, pattern, kind="approval", **more):
    assert bus.append(kind, tool="edit", pattern=pattern, summary="", **more)


def write(path, runs):
    """Let another program write runs of equal votes."""
    with path.open("a", encoding="utf-8") as file:
        for kind, pattern, repeat, minute in runs:
            event = {
                "type": "preference" if kind in ("prefer", "avoid") else kind,
                "ts": f"2026-11-30T12:{minute:02}:00Z",
                "pattern": pattern,
                "direction": kind,
                "task": pattern,
            }
            file.write((json.dumps(event) + "\n") * repeat)


run = st.tuples(
    st.sampled_from(["approval", "approval", "rejection", "prefer", "avoid", "gate"]),
    st.sampled_from(PATTERNS),
    st.integers(1, 4) | st.integers(150, 400),
    st.integers(0, 3),
)
step = st.lists(run, max_size=4) | st.sampled_from(PATTERNS).map(lambda task: {"purge": task})


@given(st.lists(step, max_size=6))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_view_that_looks_now_and_then_equals_one_look_at_the_whole_log(tmp_path, steps):
    path = tmp_path / f"{uuid.uuid4().hex}.jsonl"
    bus = Bus(path)
    view = LearnedView(bus, pins=("a",))
    for each in steps:
        if isinstance(each, dict):
            bus.purge(tasks=[each["purge"]])
        else:
            write(path, each)
        everything = Bus(path).read_state()
        assert view.lines(limit=15) == learned(everything, pins=("a",))
        rule = {"min_count": 1, "limit": 2, "min_rate": 0.0}
        assert view.lines(**rule) == learned(everything, pins=("a",), **rule)
        assert view.explain() == explain(everything, pins=("a",))


def test_the_first_look_reads_each_kind_from_the_end_and_later_ones_what_is_new(tmp_path):
    bus = Bus(tmp_path / "bus.jsonl")
    for _ in range(3):
        vote(bus, "uses pathlib")
    log = Recorder(bus)
    view = LearnedView(log)
    assert [line.line for line in view.lines()] == ["[learned] uses pathlib"]
    assert log.asked == ["tail of approval, preference", "tail of preference, rejection", "0 new"]
    vote(bus, "uses pathlib", "rejection")
    bus.append("gate", gate="pytest", passed=True, duration_ms=1)
    assert [(line.approved, line.count) for line in view.lines()] == [(3, 4)]
    assert [(line.approved, line.count) for line in view.lines(limit=15)] == [(3, 4)]
    assert log.asked[3:] == ["2 new", "0 new"]


def test_the_first_look_stops_where_500_of_each_kind_are_found(tmp_path):
    path = tmp_path / "bus.jsonl"
    write(path, [("approval", "old", 50_000, 0), ("rejection", "r", 500, 1), ("approval", "new", 500, 1)])
    taken = []

    class Counting(Recorder):
        def tail(self, *, type, before=None):
            tail = self.bus.tail(type=type, before=before)
            return SimpleNamespace(cursor=tail.cursor, events=(taken.append(event) or event for event in tail.events))

    assert [line.pattern for line in LearnedView(Counting(Bus(path))).lines()] == ["new"]
    assert len(taken) == 1000


def test_what_falls_out_of_a_full_window_does_not_change_whose_evidence_is_newer(tmp_path):
    path = tmp_path / "bus.jsonl"
    view = LearnedView(Bus(path))
    write(path, [("approval", "filler", 497, 0), ("approval", "Uses tabs", 3, 0)])
    assert [line.pattern for line in view.lines()] == ["filler", "Uses tabs"]
    write(path, [("approval", "Uses spaces", 3, 0), ("approval", "other", 10, 0)])
    assert [line.pattern for line in view.lines()] == ["filler", "other", "Uses spaces"]


def test_a_log_that_is_not_there_yet_has_no_lines_and_is_seen_when_it_comes(tmp_path):
    bus = Bus(tmp_path / "bus.jsonl")
    view = LearnedView(bus)
    assert view.lines() == []
    for _ in range(3):
        vote(bus, "uses pathlib")
    assert [line.pattern for line in view.lines()] == ["uses pathlib"]


def test_a_view_forgets_what_was_purged_and_begins_again(tmp_path):
    bus = Bus(tmp_path / "bus.jsonl")
    log = Recorder(bus)
    view = LearnedView(log)
    for task in ("t1", "t2"):
        for _ in range(3):
            vote(bus, f"of {task}", task=task)
    assert {line.pattern for line in view.lines()} == {"of t1", "of t2"}
    bus.purge(tasks=["t1"])
    vote(bus, "of t2")
    log.asked.clear()
    assert [(line.pattern, line.approved) for line in view.lines()] == [("of t2", 4)]
    assert log.asked == ["afresh", "tail of approval, preference", "tail of preference, rejection", "0 new"]


def test_a_purge_between_the_two_tails_is_seen_at_once(tmp_path):
    bus = Bus(tmp_path / "bus.jsonl")
    for kind in ("approval", "rejection"):
        for task in ("t1", "t2"):
            for _ in range(2):
                vote(bus, "p", kind, task=task)

    class Purging(Recorder):
        def tail(self, *, type, before=None):
            if before is not None and len(self.asked) == 1:
                self.bus.purge(tasks=["t1"])
            return super().tail(type=type, before=before)

    assert [(line.approved, line.count) for line in LearnedView(Purging(bus)).lines(min_rate=0.5)] == [(2, 4)]


def test_a_log_that_comes_between_the_two_tails_is_counted_once(tmp_path):
    bus = Bus(tmp_path / "bus.jsonl")

    class Beginning(Recorder):
        def tail(self, *, type, before=None):
            if before is not None:
                for kind in ("approval", "approval", "rejection"):
                    vote(self.bus, "p", kind)
            return super().tail(type=type, before=before)

    assert [(line.approved, line.count) for line in LearnedView(Beginning(bus)).lines()] == [(2, 3)]


def test_the_lines_given_out_are_the_callers_own(tmp_path):
    bus = Bus(tmp_path / "bus.jsonl")
    view = LearnedView(bus)
    for _ in range(3):
        vote(bus, "uses pathlib")
    view.lines().clear()
    assert [line.pattern for line in view.lines()] == ["uses pathlib"]


def test_threads_that_look_while_others_write_never_see_a_vote_twice_or_lose_one(tmp_path):
    bus = Bus(tmp_path / "bus.jsonl")
    view = LearnedView(bus)
    seen = [[] for _ in range(4)]
    writing = threading.Event()
    writing.set()

    def look(mine):
        while writing.is_set():
            mine += [line.approved for line in view.lines(min_count=1)]

    threads = [threading.Thread(target=look, args=(mine,)) for mine in seen]
    for thread in threads:
        thread.start()
    for _ in range(150):
        vote(bus, "p")
    writing.clear()
    for thread in threads:
        thread.join()
    assert [line.approved for line in view.lines()] == [150]
    assert all(mine == sorted(mine) for mine in seen)
