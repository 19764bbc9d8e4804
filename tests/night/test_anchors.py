"""Whom else a candidate is held against: the base, and the best that ever was production."""

from __future__ import annotations

from pathlib import Path

import pytest

from cipher_nb.battery.families import sealed
from cipher_nb.battery.results import Results, Row, write_results
from cipher_nb.errors import BatteryError
from cipher_nb.night.anchors import anchors, best_ever
from cipher_nb.night.judge import standing
from cipher_nb.night.measure import header_for, results_path
from cipher_nb.workspace import Workspace

CATEGORY, ASKED = "settings", 40


@pytest.fixture
def ws(tmp_path: Path) -> Workspace:
    """A workspace whose production was a1 first and b2 then."""
    model = tmp_path / "model.gguf"
    model.write_bytes(b"GGUF model")
    ws = Workspace.init(tmp_path / "ws")
    settings = f'[model]\nname = "{model}"\n[battery]\ncategories = ["{CATEGORY}"]\nper_category = {ASKED}\n'
    ws.paths.config.write_text(settings)
    ws = Workspace.open(ws.paths.root)
    for adapter in ("a1", "b2"):
        (tmp_path / "file").write_bytes(b"GGUF " + adapter.encode())
        ws.registry.add(adapter, tmp_path / "file", manifest={})
        ws.registry.stage(adapter)
        ws.registry.promote(adapter)
    return ws


def scored(ws: Workspace, adapter: str, right: int, *, asked: int = ASKED) -> None:
    samples = sealed(CATEGORY, ASKED, seed=7)[:asked]
    rows = tuple(Row(each.id, CATEGORY, each.family, float(n < right), "") for n, each in enumerate(samples))
    header = header_for(ws.parts, adapter)
    path = results_path(ws.parts, header)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_results(path, Results(header, rows))


def test_without_answers_on_record_the_base_is_the_only_anchor(ws: Workspace) -> None:
    assert anchors(ws.parts, production="b2") == {"base": "base"}


def test_the_best_that_ever_was_production_is_an_anchor_beside_the_base(ws: Workspace) -> None:
    for adapter, right in (("base", 10), ("a1", 30), ("b2", 28)):
        scored(ws, adapter, right)
    assert anchors(ws.parts, production="b2") == {"base": "base", "best ever": "a1"}
    assert anchors(ws.parts, production="a1") == {"base": "base"}


def test_who_is_best_is_told_on_the_questions_that_all_were_asked(ws: Workspace) -> None:
    scored(ws, "base", 10)
    scored(ws, "a1", 12, asked=20)
    scored(ws, "b2", 15)
    assert best_ever(ws.parts) == "b2"


def test_production_below_an_anchor_is_told_with_the_category(ws: Workspace) -> None:
    for adapter, right in (("base", 10), ("a1", 30), ("b2", 26)):
        scored(ws, adapter, right)
    assert standing(ws.parts) == ["production against a1: category below -0.05: settings -0.100"]


def test_production_without_answers_on_record_cannot_be_judged(ws: Workspace) -> None:
    with pytest.raises(BatteryError, match="no results on record for base"):
        standing(ws.parts)
