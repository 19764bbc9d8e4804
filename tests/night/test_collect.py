"""Which categories count as failed, and what they put into the dataset."""

from __future__ import annotations

from pathlib import Path

from cipher_nb.night.collect import Weak, weak_categories
from cipher_nb.workspace import Workspace


def test_the_weakest_category_gets_all_its_pairs_and_other_failed_ones_a_quarter(tmp_path: Path) -> None:
    ws = Workspace.init(tmp_path)
    scores = {"settings": 0.49, "keybindings": 0.5, "command registry": 0.2, "agent tools": 0.8}
    assert weak_categories(ws.parts, scores) == [Weak("command registry", 0.2, 96), Weak("settings", 0.49, 24)]


def test_nothing_failed_when_all_reach_the_mark(tmp_path: Path) -> None:
    assert weak_categories(Workspace.init(tmp_path).parts, {"settings": 0.5}) == []
