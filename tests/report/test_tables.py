"""Deltas, changed answers, and tables that no text can break."""

import re

import pytest

from cipher_nb.files import write_json
from cipher_nb.report.deltas import Delta
from cipher_nb.report.facts import dropped_table
from cipher_nb.report.tables import Table, deltas_frame, deltas_table
from cipher_nb.report.view import NightView
from tests.report import nights


def test_the_frame_has_the_worst_delta_first(folder):
    nights.archived(folder)
    frame = deltas_frame(NightView.load(folder))
    assert list(frame.columns) == [
        "category", "n", "production", "candidate", "delta", "lower_bound", "upper_bound", "word"
    ]  # fmt: skip
    assert list(frame["category"]) == ["settings", "agent tools", "keybindings", "command registry"]
    assert list(frame["word"]) == ["✕ below the gate", "= unchanged", "= unchanged", "▲ better"]
    assert frame["delta"].round(3).tolist() == [-0.458, 0.0, 0.0, 0.417]
    assert frame["n"].tolist() == [48, 48, 48, 48]


def test_the_table_ends_with_the_composite(folder):
    nights.staged(folder)
    table = deltas_table(NightView.load(folder))
    assert table.rows[-1][:5] == ("composite", "192", "0.61", "0.74", "+0.12")
    assert table.html().count('<tr class="whole">') == 1


@pytest.mark.parametrize(
    ("delta", "allowed", "word"),
    [
        (-0.05, 0.05, "▼ worse, allowed"),
        (-0.0500001, 0.05, "✕ below the gate"),
        (-0.0000001, 0.0, "✕ below the gate"),
        (0.0, 0.0, "= unchanged"),
        (0.1, 0.0, "△ better, unproven"),
        (None, 0.05, "– not scored"),
    ],
)
def test_the_word_follows_the_rule_to_the_digit(delta, allowed, word):
    assert Delta("c", 1, 0.5, 0.5, delta, None, allowed).word == word


@pytest.mark.parametrize(
    ("lower", "word"), [(0.01, "▲ better"), (0.0, "△ better, unproven"), (-0.07, "△ better, unproven")]
)
def test_better_is_said_outright_only_where_the_evidence_vouches_for_it(lower, word):
    assert Delta("c", 64, 0.5, 0.6, 0.1, lower).word == word


GATE = {
    "rule": {
        "categories": [
            {"category": name, "production": 0.5, "candidate": 0.5, "delta": delta}
            for name, delta in (
                ("up", 0.2), ("even", 0.01), ("drop", -0.2), ("unsure", -0.06), ("fair", 0.1), ("lost", None)
            )
        ],
        "production_composite": 0.5,
        "candidate_composite": 0.51,
        "composite_delta": 0.01,
    },
    "evidence": {
        "categories": [
            {"category": name, "n": 64, "lower": lower, "upper": upper, "word": word}
            for name, lower, upper, word in (
                ("up", 0.1, 0.3, "better"), ("even", -0.03, 0.05, "not worse"), ("drop", -0.3, -0.1, "worse"),
                ("unsure", -0.2, 0.1, "open"), ("fair", -0.1, 0.3, "open"),
            )
        ],
        "composite": {"delta": 0.01, "lower": -0.02, "upper": 0.04},
    },
}  # fmt: skip


def test_unscored_comes_first_then_worse_open_not_worse_and_better(folder):
    write_json(folder / "gate.json", GATE)
    rows = [(row[0], row[-1]) for row in deltas_table(NightView.load(folder)).rows]
    assert rows == [
        ("lost", "– not scored"),
        ("drop", "✕ worse"),
        ("unsure", "○ open, below the gate"),
        ("fair", "○ open"),
        ("even", "● not worse"),
        ("up", "▲ better"),
        ("composite", "○ open"),
    ]


@pytest.mark.parametrize(
    ("lower", "upper", "word"),
    [(0.001, 0.1, "▲ better"), (0.0, 0.1, "○ open"), (-0.1, 0.0, "○ open"), (-0.1, -0.001, "✕ worse")],
)
def test_the_composite_is_better_or_worse_where_its_bounds_leave_no_doubt(folder, lower, upper, word):
    evidence = {"categories": [], "composite": {"lower": lower, "upper": upper}}
    write_json(folder / "gate.json", {**GATE, "evidence": evidence})
    assert deltas_table(NightView.load(folder)).rows[-1][-1] == word


def test_a_word_that_is_none_of_the_evidences_is_not_believed(folder):
    evidence = {"categories": [{"category": "drop", "word": "<b>fine</b>"}]}
    write_json(folder / "gate.json", {**GATE, "evidence": evidence})
    words = {row[0]: row[-1] for row in deltas_table(NightView.load(folder)).rows}
    assert words["drop"] == "✕ below the gate"


def test_without_a_gate_there_is_a_sentence(folder):
    view = NightView.load(folder)
    assert deltas_frame(view).empty
    assert deltas_table(view)._repr_html_() == (
        "<p>The battery did not get so far that there is anything to compare.</p>"
    )


def test_table_html_is_escaped_scoped_and_always_the_same():
    table = Table(head=("<b>", "n"), rows=[("<script>", "1"), ("a&b", "2")])
    html = table.html()
    assert html == (
        '<table><thead><tr><th scope="col">&lt;b&gt;</th><th scope="col" class="number">n</th></tr></thead><tbody>'
        '<tr><th scope="row">&lt;script&gt;</th><td class="number">1</td></tr>'
        '<tr><th scope="row">a&amp;b</th><td class="number">2</td></tr></tbody></table>'
    )
    assert not re.search(r"\bid=", table._repr_html_())
    assert table._repr_html_() == table._repr_html_()


def test_a_terminal_gets_the_table_as_text():
    assert repr(Table(head=("a", "b"), rows=[("xyz", "1")])) == "a    b\nxyz  1"


def test_reasons_for_leaving_pairs_out_are_counted(folder):
    nights.collect(folder, dropped=[["p1", "a"], ["p2", "b"], ["p3", "b"], "not a pair", [1]])
    assert dropped_table(NightView.load(folder)).rows == [("b", "2", "p2"), ("a", "1", "p1")]


def test_many_reasons_are_summed_up(folder):
    write_json(folder / "collect.json", {"dropped": [[f"p{n}", f"r{n:02}"] for n in range(30)]})
    rows = dropped_table(NightView.load(folder)).rows
    assert len(rows) == 13
    assert rows[-1] == ("18 further reasons", "18", "")
