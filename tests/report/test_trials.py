"""What trials came to, in tables, in a picture and in words."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cipher_nb.night.trials.estimate import Estimate
from cipher_nb.night.trials.plan import Plan, Trial
from cipher_nb.night.trials.store import Outcome
from cipher_nb.report.picture import DARK, LIGHT
from cipher_nb.report.trials import estimate_words, trials_table
from cipher_nb.report.trials_chart import trials_chart, trials_picture
from cipher_nb.report.trials_verdict import trials_verdict
from tests.report.figures import cut_off, overlapping
from tests.report.frames import words_in
from tests.trials import findings, outcome, whole

SOP, OTHER = Trial(5e-4, 0.3), Trial(2e-4, 0.5)
BARE = Plan((2e-4, 5e-4), (0.3, 0.5), confirm_seeds=(), replay=["base"], load_in_4bit=["no"], rejections=["ignore"])


def said(*outcomes, plan=BARE):
    return trials_verdict(findings(plan, *outcomes)).text


def test_the_table_has_a_row_a_setting_with_intervals_and_the_range_over_seeds():
    table = trials_table(whole(Plan()))
    rows = {row[0]: row for row in table.rows}
    assert len(rows) == 12
    assert rows["1e-4 · 0%"][1] == "+0.27 (+0.15 to +0.42)"
    assert rows["1e-4 · 0%"][3].startswith("settings −0.10 (")
    assert rows["5e-4 · 30%"][5] == "3 seeds: gain +0.56 to +0.60, elsewhere −0.02 to −0.01"
    assert rows["5e-4 · 30% from file"][5:] == ("1 seed", "0.50", "2 min 40 s")


def test_without_a_trial_table_chart_and_verdict_say_so():
    nothing = findings(BARE)
    assert repr(trials_table(nothing)) == "No trial has been done yet."
    assert words_in(trials_chart(nothing)) == ["no trial has been done yet"]
    assert trials_verdict(nothing).text.startswith("The SOP's setting was not measured")


def test_where_nothing_is_better_the_sops_default_holds_and_what_could_not_be_seen_is_told():
    text = said(outcome(SOP, 20), outcome(OTHER, 21))
    assert text.startswith(
        "The SOP's default (5e-4 · 30%) holds, for want of proof against it: the best other setting, "
    )
    assert "2e-4 · 50%, differs by +0.01 (" in text
    assert "at this size a true difference of up to 0.06 is not ruled out" in text
    assert "cannot be told apart" not in text


def test_a_setting_that_is_better_beyond_chance_becomes_the_default():
    text = said(outcome(SOP, 2, elsewhere=-10), outcome(OTHER, 30), outcome(Trial(2e-4, 0.3), 3, elsewhere=-10))
    assert text.startswith("Take 2e-4 · 50% as the default: it is better than the SOP's 5e-4 · 30%, +0.20 (")
    assert "Over all categories 2e-4 · 50% is better; 1 of the 2 other settings cannot be told apart from it." in text
    assert "by the gate's rule it would not pass, 2e-4 · 50% would pass." in text


def test_a_setting_that_is_worse_beyond_chance_leaves_the_sops():
    text = said(outcome(SOP, 30), outcome(OTHER, 2, elsewhere=-10))
    assert text.startswith(
        "The SOP's default (5e-4 · 30%) holds: the best other setting, 2e-4 · 50%, is worse, −0.20 ("
    )


def test_averages_by_rate_and_by_share_are_told_in_the_grids_order():
    text = said(outcome(Trial(2e-4, 0.3), 12), outcome(OTHER, 24), outcome(SOP, 24), outcome(Trial(5e-4, 0.5), 36))
    assert "By rate, the mean gain on keybindings is +0.38 (2e-4), +0.62 (5e-4)." in text
    assert "By share of replay, the mean change elsewhere is 0.00 (30%), 0.00 (50%)." in text


def test_a_change_beside_the_sops_setting_is_told_as_such():
    text = said(outcome(SOP, 20), outcome(replace(SOP, load_in_4bit="yes"), 20), plan=Plan(load_in_4bit=["no", "yes"]))
    assert "NF4 weights instead of weights as served: 0.00 (−0.07 to +0.07) on the target, " in text
    assert "0.00 (−0.04 to +0.04) elsewhere, not to be told apart." in text
    text = said(outcome(SOP, 40), outcome(replace(SOP, rejections="kto"), 10), plan=Plan())
    assert "Learning from rejections instead of ignoring rejections: −0.62 (" in text
    assert "elsewhere, worse on the target." in text


def test_a_trial_that_could_not_be_done_is_named_with_its_reason():
    failed = Outcome("k", OTHER, scores={}, error="the loss is nan at step 3 of 20")
    text = said(outcome(SOP, 20), failed)
    assert text.startswith("Only the SOP's setting (5e-4 · 30%) was tried")
    assert text.endswith("Not done: 2e-4 · 50%, seed 0: the loss is nan at step 3 of 20.")


@pytest.mark.slow
@pytest.mark.parametrize("look", [LIGHT, replace(DARK, width_in=4.2)])
def test_every_point_has_its_label_and_none_covers_another_or_is_cut_off(look):
    figure = trials_chart(whole(Plan()), look)
    assert {"5e-4 · 30% (SOP)", "1e-4 · 0%", "5e-4 · 30% · NF4"} <= set(words_in(figure))
    assert (overlapping(figure), cut_off(figure)) == ([], [])


def test_shapes_tell_the_shares_apart_without_colour():
    (axes,) = trials_chart(whole(Plan())).axes
    markers = [line.get_marker() for line in axes.lines if line.get_marker() not in ("None", None, "")]
    assert (markers.count("o"), markers.count("s"), markers.count("^")) == (3, 6, 3)
    caption = trials_picture(whole(Plan())).caption
    assert "Replay: ● 0%, ■ 30%, ▲ 50%" in caption


def test_the_alternative_text_tells_gain_and_loss():
    alt = trials_picture(findings(BARE, outcome(SOP, 24, elsewhere=-6))).alt
    assert alt == ("Gain on keybindings and change elsewhere by setting. 5e-4 · 30%: gain +0.50, elsewhere −0.04.")


def test_the_estimate_counts_what_is_done_already():
    assert estimate_words(Estimate(16, 0, 2630.0)).text == "16 trials: about 44 min to go."
    assert estimate_words(Estimate(16, 5, 30.0)).text == "16 trials, 5 of them done already: about 1 min to go."
    assert estimate_words(Estimate(16, 16, 0.0)).text == "All 16 trials are on record; nothing is trained."
