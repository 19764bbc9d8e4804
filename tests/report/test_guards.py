"""Must-pass samples, drift, leaks, overfitting and cost, as far as a night tells them."""

import pytest

from cipher_nb.files import write_json
from cipher_nb.report.guards import cost_facts, guard_facts, leaked_table, overfit_table
from cipher_nb.report.judged import figures_table, judged, verdict
from cipher_nb.report.view import NightView
from tests.report import nights


def view_of(folder, **gate):
    write_json(folder / "gate.json", gate)
    return NightView.load(folder)


def test_guards_that_held_are_told_with_their_figures(folder):
    facts = dict(guard_facts(view_of(folder, **nights.GUARDS)))
    assert facts == {
        "Must-pass samples": "14 asked, none lost",
        "Drift from the base": "0.084 nats per token, within the 0.50 allowed",
        "Samples that leaked into training": "1, retired",
    }


@pytest.mark.parametrize(
    ("guards", "said", "fact"),
    [
        ({"must_pass": {"asked": 3, "lost": ["a", "b"]}}, "2 must-pass samples lost.", "2 of 3 lost: a, b"),
        (
            {"drift": {"nats_per_token": 0.71, "budget": 0.5, "passed": False}},
            "The candidate's words moved further from the base's than allowed.",
            "0.710 nats per token, beyond the 0.50 allowed",
        ),
    ],
)
def test_a_guard_that_was_broken_fails_with_its_reason(folder, guards, said, fact):
    told = judged(view_of(folder, **guards)).guards
    assert (told.word, told.tone, told.sentence) == ("failed", "bad", said)
    assert [value for _, value in told.facts] == [fact]


def test_an_older_night_had_no_guards(folder):
    nights.staged(folder)
    view = NightView.load(folder)
    assert (judged(view).guards, guard_facts(view), cost_facts(view)) == (None, [], [])
    assert leaked_table(view)._repr_html_() == "<p>Leaks were not looked for here.</p>"


def test_the_gate_tells_what_it_asked_and_saved(folder):
    assert cost_facts(view_of(folder, **nights.GUARDS)) == [
        ("Answers asked", "1,909 of 4,873 (39%)"),
        ("Time", "6 min 52 s, about 10 min 40 s saved"),
        ("Categories still open", "17 after 32, 11 after 64, 4 after 96, 2 after 256 samples a category"),
    ]


def test_a_gate_that_ran_out_of_time_says_so(folder):
    facts = cost_facts(view_of(folder, **nights.GUARDS, in_time=False))
    assert facts[-1] == ("Ended by", "the time limit, before everything was decided")


def test_the_overfit_meter_has_the_widest_gap_first(folder):
    assert overfit_table(view_of(folder, **nights.GUARDS)).rows == [
        ("math", "96", "0.72", "0.39", "+0.33"),
        ("command registry", "96", "0.58", "0.51", "+0.07"),
    ]


def test_a_leaked_sample_is_named_with_the_words_that_gave_it_away(folder):
    table = leaked_table(view_of(folder, **nights.GUARDS))
    assert table.rows == [("exports-3b1c09d2aa51", "exports", nights.GUARDS["leaked"][0]["words"])]


@pytest.mark.parametrize("junk", [None, 3, "x", [], [1], {}, {"asked": "x"}, {"a": {"sealed": "x"}}])
def test_no_shape_of_a_guard_can_break_a_view(folder, junk):
    view = view_of(folder, must_pass=junk, drift=junk, leaked=junk, spent=junk, practice=junk)
    assert overfit_table(view).rows == []
    assert cost_facts(view) == []
    assert verdict(view).text


def test_the_verdict_is_one_sentence_with_the_rule_beside_it(folder):
    nights.archived(folder)
    assert verdict(NightView.load(folder)).text.startswith("REGRESSION: Worse than chance explains: settings -0.458")
    assert "The rule failed: Category below -0.05: settings -0.458" in verdict(NightView.load(folder)).text


def test_without_a_gate_the_verdict_says_what_to_run(folder):
    view = NightView.load(folder)
    assert verdict(view).text.startswith("Nothing has been compared yet. Run a night with: cipher-nb night.")
    assert repr(figures_table(view)) == "The gate has not spoken yet."


def test_the_figures_stand_in_one_table(folder):
    nights.wide(folder)
    rows = dict(figures_table(NightView.load(folder)).rows)
    assert rows["Composite"] == "0.54 → 0.56 (+0.02)"
    assert rows["Worst category"] == "training gate −0.31"
    assert rows["Samples that changed"] == "129 better, 80 worse"
    assert rows["Answers asked"] == "1,909 of 4,873 (39%)"
