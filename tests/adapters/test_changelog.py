"""The changelog: the SOP's words, to the letter."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from cipher_nb.adapters import changelog as changelogs
from cipher_nb.adapters.changelog import Changelog
from cipher_nb.errors import DecisionError

NIGHT = Changelog(
    id="2026-11-30-0210",
    created="2026-11-30T02:10:00.000Z",
    adapter="3fa9c1d20b7e",
    verdict="PROVEN",
    patterns=("uses pathlib", "names the value", "tests first"),
    pairs=1,
    composite_delta=0.04,
    worst_delta=-0.02,
)


def test_the_text_is_that_of_the_sop() -> None:
    assert NIGHT.text() == (
        "Overnight I learned:\n"
        "- 3 new approval patterns (now seen >=3 times)\n"
        "- 1 trajectory pair added to my training data\n"
        "- Battery delta: +0.04 composite, all categories >= -0.02\n"
        "\n"
        "[APPLY]  [REVIEW]  [SKIP]"
    )


def test_numbers_decide_between_one_and_many() -> None:
    text = replace(NIGHT, patterns=("one",), pairs=12).text()
    assert "- 1 new approval pattern (now seen >=3 times)\n- 12 trajectory pairs added" in text


def test_the_hash_covers_what_is_read_and_not_the_answer() -> None:
    assert NIGHT.hash == replace(NIGHT, status="applied").hash
    assert NIGHT.hash != replace(NIGHT, composite_delta=0.05).hash
    assert NIGHT.hash != replace(NIGHT, adapter="000000000000").hash
    assert len(NIGHT.hash) == 8


@pytest.mark.parametrize(("hours", "stale"), [(23.9, False), (24.0, False), (24.1, True)])
def test_it_is_stale_after_24_hours(hours: float, stale: bool) -> None:
    now = datetime(2026, 11, 30, 2, 10, tzinfo=UTC) + timedelta(hours=hours)
    assert NIGHT.stale(now) is stale
    assert not replace(NIGHT, status="skipped").stale(now)


def test_it_persists_until_it_is_answered(tmp_path: Path) -> None:
    path = tmp_path / "changelog.json"
    assert changelogs.latest(path) is None
    changelogs.publish(path, NIGHT)
    assert changelogs.find(path, NIGHT.ref) == NIGHT
    changelogs.answer(path, NIGHT, "skipped")
    assert changelogs.latest(path) == replace(NIGHT, status="skipped")


def test_another_hash_is_refused_and_the_right_one_named(tmp_path: Path) -> None:
    path = tmp_path / "changelog.json"
    with pytest.raises(DecisionError, match="no changelog is pending"):
        changelogs.find(path, NIGHT.ref)
    changelogs.publish(path, NIGHT)
    with pytest.raises(DecisionError, match=f"it is {NIGHT.ref} \\(pending\\)"):
        changelogs.find(path, "2026-11-30-0210@00000000")
