"""Nights as folders: what counts as finished, what is resumed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from cipher_nb.errors import NotFoundError
from cipher_nb.night.folder import NightFolder, Progress, list_nights, new_night, open_night, resumable

NOW = datetime(2026, 11, 30, 2, 10, tzinfo=UTC)


def test_a_stage_is_finished_when_its_result_is_whole(tmp_path: Path) -> None:
    folder = new_night(tmp_path, NOW)
    assert folder.unfinished() == ("collect", "train", "export", "battery", "gate", "stage", "changelog")
    folder.finish("collect", {"total": 3})
    (folder.path / "train.json").write_text('{"steps": 1')
    assert folder.result("collect") == {"total": 3}
    assert folder.unfinished()[0] == "train"
    with pytest.raises(NotFoundError, match="has no train result; run its notebook first"):
        folder.require("train")


def test_two_nights_in_one_minute_get_two_folders(tmp_path: Path) -> None:
    assert [new_night(tmp_path, NOW).run_id for _ in range(3)] == [
        "2026-11-30-0210",
        "2026-11-30-0210-2",
        "2026-11-30-0210-3",
    ]
    assert list_nights(tmp_path)[-1].run_id == "2026-11-30-0210"


@pytest.mark.parametrize(
    ("status", "hours", "taken_up"),
    [
        (None, 1, True),
        (None, 25, False),
        ("stopped", 1, True),
        ("failed", 1, False),
        ("staged", 1, False),
        ("nothing", 1, False),
    ],
)
def test_only_a_recent_night_that_died_or_was_stopped_is_taken_up(
    tmp_path: Path, status: str | None, hours: int, taken_up: bool
) -> None:
    folder = new_night(tmp_path, NOW)
    if status:
        folder.end({"status": status})
    assert resumable(tmp_path, NOW + timedelta(hours=hours)) == (folder if taken_up else None)


def test_an_unknown_night_names_those_there_are(tmp_path: Path) -> None:
    new_night(tmp_path, NOW)
    with pytest.raises(NotFoundError, match="night 'x' does not exist; newest: 2026-11-30-0210"):
        open_night(tmp_path, "x")


def test_progress_never_raises_even_without_its_folder(tmp_path: Path) -> None:
    Progress(NightFolder(tmp_path / "gone"), "training")(1, 2)
