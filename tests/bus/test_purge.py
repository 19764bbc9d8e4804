"""Purge: what goes is gone from every file, what stays is as it was, and writers beside it lose nothing."""

import signal
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from cipher_nb.bus import Bus, segments

ROOT = Path(__file__).parents[2]
NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "cipher-state.jsonl"


@pytest.fixture
def bus(path):
    bus = Bus(path)
    for number in range(6):
        moment = NOON + timedelta(hours=number)
        bus.append("note", number=number, task=f"t{number % 2}", id=f"e{number}", ts=moment, text=f"words{number}")
        if number in (1, 3):
            segments.close(path)
    bus.pack()
    return bus


def numbers(events):
    return [event.fields["number"] for event in events]


def everything_in(folder):
    import gzip

    return b"".join(
        gzip.decompress(entry.read_bytes()) if entry.suffix == ".gz" else entry.read_bytes()
        for entry in folder.iterdir()
    )


@pytest.mark.parametrize(
    ("what", "left"),
    [
        ({"ids": ["e0", "e5"]}, [4, 3, 2, 1]),
        ({"tasks": ["t1"]}, [4, 2, 0]),
        ({"before": NOON + timedelta(hours=3)}, [5, 4, 3]),
        ({"before": NOON + timedelta(hours=3), "ids": ["e4"]}, [5, 3]),
        ({"everything": True}, []),
        ({"ids": ["unknown"]}, [5, 4, 3, 2, 1, 0]),
        ({"tasks": [""]}, [5, 4, 3, 2, 1, 0]),
    ],
)
def test_what_is_unwanted_is_gone_from_every_file(bus, path, what, left):
    purged = bus.purge(**what)
    assert numbers(bus.read_state()) == left
    assert purged.count == 6 - len(left)
    assert purged.ids == {f"e{number}" for number in range(6) if number not in left}
    for number in range(6):
        assert (f"words{number}".encode() in everything_in(path.parent)) == (number in left)


def test_lines_that_are_no_events_stay_unless_all_goes(bus, path):
    with path.open("ab") as file:
        file.write(b'hello\n{"type":')
    bus.purge(ids=["e5"])
    assert path.read_bytes().endswith(b'hello\n{"type":')
    bus.purge(everything=True)
    assert path.read_bytes() == b""


def test_a_file_without_the_unwanted_is_not_written_again(bus, path):
    before = path.stat()
    bus.purge(ids=["e0"])
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_the_mode_and_a_link_to_the_file_stay(tmp_path):
    real = tmp_path / "real.jsonl"
    bus = Bus(tmp_path / "bus.jsonl")
    bus.path.symlink_to(real)
    bus.append("a", id="1")
    bus.append("b", id="2")
    real.chmod(0o600)
    bus.purge(ids=["1"])
    assert bus.path.is_symlink()
    assert real.stat().st_mode & 0o777 == 0o600
    assert [event.type for event in bus.read_state()] == ["b"]


def test_a_cursor_from_before_is_noticed(bus):
    cursor = bus.tail().cursor
    bus.append("note", number=6, id="e6")
    bus.purge(ids=["e4"])
    assert bus.read_from(cursor).afresh is True


WRITING = """
import sys
from pathlib import Path
from cipher_nb.bus import Bus
bus, name, stop, number = Bus(Path(sys.argv[1])), sys.argv[2], Path(sys.argv[3]), 0
while not stop.exists():
    assert bus.append("note", writer=name, number=number)
    number += 1
    if number == 1:
        print("ready", flush=True)
print(number)
"""


def test_writers_beside_a_purge_lose_nothing(tmp_path):
    path, stop = tmp_path / "bus.jsonl", tmp_path / "stop"
    bus = Bus(path)
    for number in range(200):
        bus.append("old", number=number, task="t1")
    command = [sys.executable, "-c", WRITING, path]
    writers = {name: subprocess.Popen([*command, name, stop], stdout=subprocess.PIPE, text=True) for name in ("a", "b")}
    for writer in writers.values():
        assert writer.stdout.readline() == "ready\n"
    for _ in range(5):
        bus.append("old", number=0, task="t1")
        assert bus.purge(tasks=["t1"]).count > 0
    stop.touch()
    written = {name: int(writer.communicate(timeout=60)[0]) for name, writer in writers.items()}
    found = bus.read_state(type="note")
    for name, count in written.items():
        own = [event.fields["number"] for event in reversed(found) if event.fields["writer"] == name]
        assert own == list(range(count))
    assert bus.skipped == 0


PURGING = """
import sys
from pathlib import Path
from cipher_nb.bus import Bus
from tests.sandbox.applying import die_at
bus = Bus(Path(sys.argv[1]))
die_at(int(sys.argv[2]))
bus.purge(tasks=["t1"])
"""


@pytest.mark.slow
def test_a_purge_that_is_killed_leaves_the_old_file_or_the_new_one(tmp_path):
    path = tmp_path / "bus.jsonl"
    bus = Bus(path)
    lines = b"".join(b'{"type":"note","id":"e%d","task":"t%d"}\n' % (number, number % 2) for number in range(600))
    counts, killed = [], True
    while killed:
        path.write_bytes(lines)
        command = [sys.executable, "-c", PURGING, path, str(len(counts) + 1)]
        killed = subprocess.run(command, cwd=ROOT, check=False).returncode == -signal.SIGKILL
        counts.append(len(bus.read_state()))
        assert bus.append("note", id="next")
    turn = counts.index(300)
    assert counts == [600] * turn + [300] * (len(counts) - turn)
    assert len(counts) > 3
