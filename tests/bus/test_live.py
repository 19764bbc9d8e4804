"""Following the bus, exploring it as a frame, keeping secrets out of it, and bringing it to the disk."""

import shutil
import subprocess
import sys
import textwrap
import threading
import time
from datetime import UTC, datetime, timedelta

import pandas as pd
import pytest

from cipher_nb.bus import Bus, segments
from cipher_nb.config import BusSettings
from cipher_nb.errors import ConfigError

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


@pytest.fixture
def bus(tmp_path):
    return Bus(tmp_path / "cipher-state.jsonl")


def follow(bus, count, **options):
    """Start to follow, and return a list that fills, and what waits until `count` events are in it."""
    seen = []
    ready = threading.Event()

    def watch():
        for event in bus.follow(until=lambda: ready.set() or len(seen) >= count, **options):
            seen.append(event.fields["number"])

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    assert ready.wait(60)
    return seen, lambda: thread.join(60)


def test_who_follows_sees_what_comes_and_nothing_from_before(bus):
    bus.append("note", number=0)
    seen, wait = follow(bus, 2)
    bus.append("note", number=1)
    bus.append("note", number=2)
    wait()
    assert seen == [1, 2]


def test_what_comes_between_the_call_and_the_first_look_is_seen(bus):
    bus.append("note", number=1)
    coming = bus.follow()
    bus.append("note", number=2)
    assert next(coming).fields["number"] == 2


def test_who_follows_one_type_sees_no_other(bus):
    seen, wait = follow(bus, 1, type="b")
    bus.append("a", number=1)
    bus.append("b", number=2)
    wait()
    assert seen == [2]


def test_who_follows_goes_on_through_a_closed_file_and_a_purge(bus):
    seen, wait = follow(bus, 4)
    bus.append("note", number=1, id="e1")
    segments.close(bus.path)
    bus.append("note", number=2, id="e2")
    while len(seen) < 2:
        time.sleep(0.01)
    bus.purge(ids=["e1"])
    bus.append("note", number=3)
    bus.append("note", number=4)
    wait()
    assert seen == [1, 2, 3, 4]


def test_a_frame_has_a_row_an_event_oldest_first_and_a_column_a_field(bus):
    bus.append("approval", tool="edit", pattern="p", summary="s", task="t1", ts=NOON, id="e1", colour="red")
    bus.append("gate", gate="tests", passed=False, duration_ms=12, ts=NOON + timedelta(hours=1), id="e2")
    with bus.path.open("a") as file:
        file.write('{"type":"gate","gate":7,"passed":"yes","duration_ms":"long"}\n')
    frame = bus.frame()
    assert list(frame["type"]) == ["approval", "gate", "gate"]
    assert list(frame["id"]) == ["e1", "e2", ""]
    assert list(frame["ts"][:2]) == [pd.Timestamp(NOON), pd.Timestamp(NOON + timedelta(hours=1))]
    assert frame["ts"].isna().tolist() == [False, False, True]
    assert str(frame["ts"].dtype) == "datetime64[ms, UTC]"
    assert list(frame["extra"]) == [{"colour": "red"}, None, None]
    assert frame["gate"].astype(object).fillna("-").tolist() == ["-", "tests", "7"]
    assert frame["passed"].astype(object).where(frame["passed"].notna(), None).tolist() == [None, False, None]
    assert frame["duration_ms"].fillna(-1).tolist() == [-1, 12, -1]
    assert frame["task"].astype(object).fillna("-").tolist() == ["t1", "-", "-"]
    assert frame[frame["type"] == "gate"].groupby("gate", observed=True).size().to_dict() == {"tests": 1, "7": 1}


def test_a_frame_is_filtered_as_a_read_is(bus):
    for number in range(5):
        bus.append("a" if number % 2 else "b", number=number, ts=NOON + timedelta(hours=number))
    assert [row["number"] for row in bus.frame(type="a")["extra"]] == [1, 3]
    assert [row["number"] for row in bus.frame(since=NOON + timedelta(hours=3))["extra"]] == [3, 4]
    assert [row["number"] for row in bus.frame(limit=2)["extra"]] == [3, 4]


def test_a_frame_of_nothing_has_all_columns(bus):
    frame = bus.frame()
    assert len(frame) == 0
    assert {"ts", "type", "id", "tool", "pattern", "summary", "passed", "duration_ms", "extra"} <= set(frame.columns)
    assert str(frame["ts"].dtype) == "datetime64[ms, UTC]"


def test_a_secret_is_masked_before_it_is_written(bus):
    token = "ghp_" + "a1B2" * 9
    bus.append(
        "error", source="git", message=f"push failed for https://bob:{token}@example.org/x.git", env={"n": [token]}
    )
    content = bus.path.read_text()
    assert token not in content
    assert "push failed for https://bob:" in content


def test_what_the_operator_calls_a_secret_is_masked_too(tmp_path):
    bus = Bus(tmp_path / "bus.jsonl", settings=BusSettings(secrets=(r"\bproject-\w+",)))
    bus.append("note", text="about project-falcon")
    assert "falcon" not in bus.path.read_text()


def test_a_pattern_for_secrets_that_is_none_is_named(tmp_path):
    with pytest.raises(ConfigError, match=r"\[bus\] secrets = '\(' "):
        Bus(tmp_path / "bus.jsonl", settings=BusSettings(secrets=("(",)))


HOW_IT_IS_SYNCED = textwrap.dedent(
    """
    import sys, time
    from pathlib import Path
    from cipher_nb.bus import Bus
    from cipher_nb.config import BusSettings
    bus = Bus(Path(sys.argv[1]), settings=BusSettings(fsync=sys.argv[2]))
    for _ in range(3):
        assert bus.append("note")
    time.sleep(float(sys.argv[3]))
    bus.append("last")
    """
)


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed: no way to see what is synced")
@pytest.mark.parametrize(
    ("fsync", "pause_s", "calls"),
    [
        ("never", 0, "write write write write"),
        ("always", 0, "write fsync write fsync write fsync write fsync"),
        ("interval", 0, "write write write write fsync"),
        pytest.param("interval", 3, "write write write fsync write fsync", marks=pytest.mark.slow),
    ],
)
def test_events_reach_the_disk_when_the_setting_says(tmp_path, fsync, pause_s, calls):
    path, trace = tmp_path / "cipher-state.jsonl", tmp_path / "trace"
    strace = ["strace", "-f", "-y", "-e", "trace=fsync,write", "-o", trace]
    subprocess.run([*strace, sys.executable, "-c", HOW_IT_IS_SYNCED, path, fsync, str(pause_s)], check=True)
    seen = [line.split(None, 1)[1] for line in trace.read_text().splitlines() if path.name in line]
    assert " ".join(call.partition("(")[0] for call in seen) == calls
