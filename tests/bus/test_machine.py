"""The file is the list: any order of append, foreign lines, crashes, closing, packing, purging and reading."""

import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from cipher_nb.bus import Bus, segments

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
TASKS = st.sampled_from(["t1", "t2", "t3"])
pytestmark = pytest.mark.slow
KINDS = st.sampled_from(["note", "deploy", "remark"])


class LogMachine(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "cipher-state.jsonl"
        self.minutes = 0
        self.bus = Bus(self.path, clock=lambda: NOON + timedelta(minutes=self.minutes))
        self.model = []  # (id, type, task, minute), oldest first
        self.cursor = self.bus.tail().cursor
        self.seen = []  # what a reader that reads on has, oldest first

    def teardown(self):
        self.folder.cleanup()

    @rule(kind=KINDS, task=TASKS, text=st.text(max_size=20))
    def append(self, kind, task, text):
        self.minutes += 1
        name = f"e{self.minutes}"
        assert self.bus.append(kind, id=name, task=task, text=text)
        self.model.append((name, kind, task, self.minutes))

    @rule(kind=KINDS, task=TASKS)
    def another_program_appends(self, kind, task):
        self.minutes += 1
        ts = int((NOON + timedelta(minutes=self.minutes)).timestamp() * 1000)
        torn = self.path.exists() and not self.path.read_bytes().endswith(b"\n") and self.path.stat().st_size
        with self.path.open("a") as file:
            file.write(
                "\n" * bool(torn) + f'{{"task": "{task}", "ts": {ts}, "id": "f{self.minutes}", "type": "{kind}"}}\n'
            )
        self.model.append((f"f{self.minutes}", kind, task, self.minutes))

    @rule(text=st.sampled_from(['{"type":"note","ta', '{"type":"no\\u00', "hello", "[", "\x00"]))
    def a_writer_dies(self, text):
        with self.path.open("a") as file:
            file.write(text)

    @precondition(lambda self: self.path.exists())
    @rule()
    def close(self):
        segments.close(self.path)

    @rule()
    def pack(self):
        self.bus.pack()

    @rule(task=TASKS)
    def purge_a_task(self, task):
        gone = [row for row in self.model if row[2] == task]
        assert self.bus.purge(tasks=[task]).count == len(gone)
        self.model = [row for row in self.model if row not in gone]

    @rule(age=st.integers(0, 20))
    def purge_what_is_old(self, age):
        minute = max(0, self.minutes - age)
        self.bus.purge(before=NOON + timedelta(minutes=minute))
        self.model = [row for row in self.model if row[3] >= minute]

    @rule(kind=KINDS, task=TASKS, age=st.integers(0, 20), limit=st.integers(0, 5))
    def ask(self, kind, task, age, limit):
        newest_first = self.model[::-1]
        minute = self.minutes - age
        moment = NOON + timedelta(minutes=minute)
        assert ids(self.bus.read_state(type=kind)) == [row[0] for row in newest_first if row[1] == kind]
        assert (
            ids(self.bus.read_state(task=task, limit=limit))
            == [row[0] for row in newest_first if row[2] == task][:limit]
        )
        assert ids(self.bus.read_state(since=moment)) == [row[0] for row in newest_first if row[3] >= minute]
        assert ids(self.bus.read_state(until=moment)) == [row[0] for row in newest_first if row[3] < minute]

    @rule()
    def read_on(self):
        added = self.bus.read_from(self.cursor)
        if added.afresh:
            tail = self.bus.tail()
            self.seen, self.cursor = ids(tail.events)[::-1], tail.cursor
        else:
            self.seen, self.cursor = self.seen + ids(added.events), added.cursor
        assert self.seen == [row[0] for row in self.model]

    @invariant()
    def the_file_is_the_list(self):
        assert ids(self.bus.read_state()) == [row[0] for row in reversed(self.model)]
        assert ids(self.bus.tail().events) == [row[0] for row in reversed(self.model)]


def ids(events):
    return [event.id for event in events]


TestLog = LogMachine.TestCase
TestLog.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)
