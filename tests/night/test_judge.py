"""The gate's stage: from the files that the battery left to one report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cipher_nb.battery.results import Results, Row, write_results
from cipher_nb.night.folder import NightFolder
from cipher_nb.night.judge import gate_stage

BESIDE: dict[str, Any] = {
    "leaked": [{"sample": "a-9", "category": "a", "words": "eight words"}],
    "practice": {"a": {"sealed": 0.5, "practice": 0.9, "n": 24}},
    "drift": {"nats_per_token": 0.1, "budget": 0.5, "passed": True, "tokens": 92},
    "spent": {"asked": 128, "planned": 256, "looks": [], "seconds": 9.0},
    "in_time": True,
}


def rows(**right: int) -> Results:
    """Return 64 rows of each category, the first so many of them right."""
    return Results(
        None,
        tuple(Row(f"{name}-{n}", name, "f", float(n < count), "") for name, count in right.items() for n in range(64)),
    )


@pytest.fixture
def folder(tmp_path: Path) -> NightFolder:
    folder = NightFolder(tmp_path)
    files = {"production": rows(a=30, b=40), "candidate": rows(a=32, b=40), "base": rows(a=30, b=50)}
    pinned = Row("pin-1", "must pass", "own", 1.0, "ok")
    for name, results in files.items():
        write_results(tmp_path / f"{name}.jsonl", Results(None, (*results.rows, pinned)))
    battery = {
        "results": {name: f"{name}.jsonl" for name in files},
        "anchors": {"base": "base"},
        "sizes": {"a": 256, "b": 256},
        "must_pass": ["pin-1"],
        **BESIDE,
    }
    folder.finish("battery", battery)
    return folder


def test_the_looks_are_those_of_the_full_size(folder: NightFolder) -> None:
    gate = gate_stage(folder)
    assert [look["n"] for look in gate["evidence"]["looks"]] == [16, 32, 64]
    assert gate["verdict"] == "INCONCLUSIVE"


def test_the_anchors_get_the_rule_on_what_the_candidate_was_asked(folder: NightFolder) -> None:
    gate = gate_stage(folder)
    assert gate["rule"]["passed"]
    assert gate["anchors"]["base"]["reason"] == "category below -0.05: b -0.156"


def test_what_must_pass_counts_in_no_category(folder: NightFolder) -> None:
    gate = gate_stage(folder)
    assert gate["must_pass"] == {"asked": 1, "lost": ()}
    assert [row["category"] for row in gate["rule"]["categories"]] == ["a", "b"]


def test_what_the_battery_found_beside_the_answers_is_reported_with_them(folder: NightFolder) -> None:
    gate = gate_stage(folder)
    assert {name: gate[name] for name in BESIDE} == BESIDE
