"""Who counts as active, and for how long."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from cipher_nb.bus import Bus
from cipher_nb.errors import ConfigError
from cipher_nb.night.idle import is_idle, last_activity, parse_duration, returned_since
from cipher_nb.records import Turn
from cipher_nb.testing import MovableClock
from cipher_nb.transcripts import Transcripts

NOW = datetime(2026, 11, 30, 2, 10, tzinfo=UTC)


@pytest.fixture
def clock() -> MovableClock:
    return MovableClock(NOW)


@pytest.fixture
def bus(tmp_path: Path, clock: MovableClock) -> Bus:
    return Bus(tmp_path / "bus.jsonl", clock=clock)


@pytest.fixture
def transcripts(tmp_path: Path) -> Transcripts:
    return Transcripts(tmp_path / "turns.jsonl")


def test_what_the_machine_does_by_itself_is_no_activity(bus: Bus, transcripts: Transcripts) -> None:
    bus.append("gate", gate="pytest", passed=True, duration_ms=3)
    bus.append("error", source="x", message="y")
    assert last_activity(bus, transcripts) is None
    assert is_idle(bus, transcripts, now=NOW, for_at_least=timedelta(hours=2))


@pytest.mark.parametrize(("minutes", "idle"), [(119, False), (120, True), (121, True)])
def test_an_approval_keeps_the_night_away_for_two_hours(
    bus: Bus, transcripts: Transcripts, minutes: int, idle: bool
) -> None:
    bus.append("approval", tool="edit", pattern="x", summary="y")
    later = NOW + timedelta(minutes=minutes)
    assert is_idle(bus, transcripts, now=later, for_at_least=timedelta(hours=2)) is idle


def test_a_chat_is_activity_too(bus: Bus, transcripts: Transcripts) -> None:
    transcripts.append(Turn("t", NOW, "t", "chat", ({"role": "user", "content": "hi"},), "hello"))
    assert last_activity(bus, transcripts) == NOW


def test_the_return_is_seen_once_something_newer_is_there(
    bus: Bus, transcripts: Transcripts, clock: MovableClock
) -> None:
    bus.append("approval", tool="edit", pattern="x", summary="y")
    returned = returned_since(bus, transcripts, NOW, every_s=0.0)
    assert not returned()
    clock.set(NOW + timedelta(seconds=1))
    bus.append("rejection", tool="edit", pattern="x", summary="y")
    assert returned()
    assert returned()


@pytest.mark.parametrize(
    ("text", "seconds"), [("90m", 5400), ("2h", 7200), ("1d", 86400), ("0.5h", 1800), (" 10 s", 10)]
)
def test_durations(text: str, seconds: float) -> None:
    assert parse_duration(text).total_seconds() == seconds


@pytest.mark.parametrize("text", ["", "2", "h", "2 weeks", "-1h", "1h30m"])
def test_other_durations_are_refused(text: str) -> None:
    with pytest.raises(ConfigError, match=r"write a number and s, m, h or d, e.g. 2h"):
        parse_duration(text)
