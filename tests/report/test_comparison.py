"""Any two results side by side: the newest night's, or two that are named."""

import pytest

from cipher_nb.battery.results import Results, Row, write_results
from cipher_nb.errors import ConfigError, NotFoundError
from cipher_nb.report.answers import regressions
from cipher_nb.report.comparison import comparison, families_table
from cipher_nb.report.tables import deltas_table
from cipher_nb.workspace import Workspace
from tests.report import nights


@pytest.fixture
def ws(tmp_path):
    return Workspace.init(tmp_path)


def results(path, right):
    rows = [Row(f"s{n}", "git", ("log", "blame")[n % 2], float(n < right), f"answer {n}") for n in range(8)]
    write_results(path, Results(None, tuple(rows)))
    return str(path)


def test_with_nothing_named_it_is_the_newest_night_that_was_judged(ws):
    for name, make in (("2026-11-29-0200", nights.staged), ("2026-11-30-0200", nights.failed)):
        folder = ws.paths.nights / name
        folder.mkdir(parents=True)
        make(folder)
    assert comparison(ws).run_id == "2026-11-29-0200"


def test_where_no_night_was_judged_it_is_empty(ws):
    assert deltas_table(comparison(ws)).rows == []


def test_two_files_are_compared_under_their_own_names(ws, tmp_path):
    view = comparison(ws, results(tmp_path / "before.jsonl", 6), results(tmp_path / "after.jsonl", 2))
    table = deltas_table(view)
    assert table.head[2:4] == ("Before.jsonl", "Candidate")
    assert table.rows[0][:5] == ("git", "8", "0.75", "0.25", "−0.50")
    assert [row.answer.sample for row in regressions(view).rows] == ["s2", "s3", "s4", "s5"]
    assert "Before.jsonl <small" in regressions(view).html()


def test_families_are_told_apart_the_biggest_fall_first(ws, tmp_path):
    view = comparison(ws, results(tmp_path / "a", 5), results(tmp_path / "b", 4))
    assert families_table(view).rows == [
        ("git", "log", "4", "0.75", "0.50", "−0.25"),
        ("git", "blame", "4", "0.50", "0.50", "0.00"),
    ]


def test_one_name_alone_is_refused(ws):
    with pytest.raises(ConfigError, match="candidate '': name both, or none for the newest night"):
        comparison(ws, "base", "")


def test_an_adapter_that_does_not_exist_is_named(ws, tmp_path):
    with pytest.raises(NotFoundError, match="adapter 'q8-none' does not exist"):
        comparison(ws, results(tmp_path / "a", 5), "q8-none")
