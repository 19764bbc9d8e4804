"""The measuring commands, as their user meets them."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner, Result

from cipher_nb.battery.results import Results, Row, write_results
from cipher_nb.cli import main
from cipher_nb.workspace import Workspace


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments)


def results(path: Path, right: int) -> str:
    write_results(path, Results(None, tuple(Row(f"a-{n}", "a", "f", float(n < right), "") for n in range(100))))
    return str(path)


def test_calibrate_says_how_often_gate_and_bare_rule_are_right() -> None:
    done = run("battery", "calibrate", "--trials", "20", "--size", "30", "--changed", "0.1", "--categories", "4")
    assert done.exit_code == 0
    told = done.stdout.splitlines()
    assert told[0].split()[:5] == ["truth", "called", "goal", "n", "changed"]
    assert told[1].startswith("equal models")
    assert "rule and anchors" in told[-1]


def test_calibrate_as_json_has_a_row_for_each_truth_and_for_creep() -> None:
    options = ("--trials", "5", "--size", "16", "--changed", "0.3", "--categories", "3", "--json")
    told = json.loads(run("battery", "calibrate", *options).stdout)
    assert [row["case"]["called"] for row in told["gate"]] == [
        "REGRESSION",
        "PROVEN",
        "PROVEN",
        "REGRESSION",
        "REGRESSION",
    ]
    assert [row["anchored"] for row in told["creep"]] == [False, True]


def test_the_gate_compares_two_files_and_its_exit_code_is_the_answer(tmp_path: Path) -> None:
    Workspace.init(tmp_path / "ws")
    old, new = results(tmp_path / "old.jsonl", 50), results(tmp_path / "new.jsonl", 20)
    better = run("gate", new, old, "--workspace", str(tmp_path / "ws"))
    worse = run("gate", old, new, "--workspace", str(tmp_path / "ws"), "--json")
    assert (better.exit_code, worse.exit_code) == (0, 1)
    assert better.stdout.splitlines()[-1] == "verdict: PROVEN (better, and no category falls by 0.05 (95 %))"
    assert json.loads(worse.stdout)["evidence"]["categories"][0]["word"] == "worse"


def test_files_with_other_samples_could_not_be_compared(tmp_path: Path) -> None:
    Workspace.init(tmp_path / "ws")
    old = results(tmp_path / "old.jsonl", 50)
    write_results(tmp_path / "new.jsonl", Results(None, (Row("a-1", "a", "f", 1.0, ""),)))
    done = run("gate", old, str(tmp_path / "new.jsonl"), "--workspace", str(tmp_path / "ws"))
    assert done.exit_code == 3
    assert "99 samples are only in production, 0 only in candidate" in done.stdout
