"""A folder for one night, named as nights are."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    night = tmp_path / "2026-11-30-0200"
    night.mkdir()
    return night
