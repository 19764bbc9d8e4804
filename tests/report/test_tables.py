"""Deltas, changed answers, and tables that no text can break."""

import re

import pytest

from cipher_nb.battery.families import sealed
from cipher_nb.files import write_json
from cipher_nb.report.answers import changed_answers
from cipher_nb.report.deltas import Delta
from cipher_nb.report.facts import dropped_table
from cipher_nb.report.tables import Table, deltas_frame, deltas_table
from cipher_nb.report.view import NightView
from tests.report import nights


def test_the_frame_has_the_worst_delta_first(folder):
    nights.archived(folder)
    frame = deltas_frame(NightView.load(folder))
    assert list(frame.columns) == ["category", "n", "production", "candidate", "delta", "lower_bound", "word"]
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


def test_changed_answers_take_turns_over_categories_and_bring_their_question(folder):
    nights.judged(folder, {**nights.WORSE, "keybindings": -4}, "archived", "x")
    worse, better = changed_answers(NightView.load(folder), limit=4)
    assert [each.answer.category for each in worse] == ["keybindings", "settings"] * 2
    assert [each.answer.category for each in better] == ["command registry"] * 4
    first = better[0]
    assert (first.answer.production, first.answer.candidate) == (0.0, 1.0)
    assert first.answer.candidate_answer == first.target != ""
    (sample,) = [each for each in sealed("command registry", 48, seed=1) if each.id == first.answer.sample]
    assert first.question == sample.user_text != ""


def test_answers_to_samples_the_battery_does_not_hold_have_no_question(folder):
    nights.staged(folder)
    for name in ("production", "candidate"):
        path = folder / f"{name}.jsonl"
        path.write_text(path.read_text().replace('"per_category":48', '"per_category":1'))
    _, better = changed_answers(NightView.load(folder), limit=1)
    assert [(each.question, each.target) for each in better] == [("", "")]


def test_reasons_for_leaving_pairs_out_are_counted(folder):
    nights.collect(folder, dropped=[["p1", "a"], ["p2", "b"], ["p3", "b"], "not a pair", [1]])
    assert dropped_table(NightView.load(folder)).rows == [("b", "2", "p2"), ("a", "1", "p1")]


def test_many_reasons_are_summed_up(folder):
    write_json(folder / "collect.json", {"dropped": [[f"p{n}", f"r{n:02}"] for n in range(30)]})
    rows = dropped_table(NightView.load(folder)).rows
    assert len(rows) == 13
    assert rows[-1] == ("18 further reasons", "18", "")
