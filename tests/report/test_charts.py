"""Charts say in words and signs what they say in colours, and draw what the night left."""

import re
import subprocess
import sys
from dataclasses import replace

import pytest

from cipher_nb.files import write_json
from cipher_nb.report.charts import category_chart, category_picture
from cipher_nb.report.loss_chart import loss_chart, loss_picture, losses
from cipher_nb.report.picture import DARK, LIGHT, svg_uri
from cipher_nb.report.view import NightView
from tests.report import nights
from tests.report.figures import cut_off, overlapping
from tests.report.frames import words_in


def test_the_category_chart_labels_both_gates_and_every_delta(folder):
    nights.archived(folder)
    words = [word.strip() for word in words_in(category_chart(NightView.load(folder)))]
    assert {"gate −0.05", "0: as production", "gate of the composite: 0"} <= set(words)
    shown = ["−0.46  ✕ below the gate", "0.00  = unchanged", "+0.42  ▲ better", "−0.01  ✕ below the gate"]
    assert [word for word in dict.fromkeys(words) if word in shown] == shown
    assert {"settings", "agent tools", "keybindings", "command registry", "composite"} <= set(words)


def test_with_words_each_row_ends_in_sign_and_word(folder):
    nights.wide(folder)
    words = words_in(category_chart(NightView.load(folder)))
    for ending in ("−0.31  ✕ worse", "−0.055  ○ open", "+0.06  ● not worse", "+0.28  ▲ better", "+0.02  ○ open"):
        assert ending in words


@pytest.mark.slow
@pytest.mark.parametrize("look", [LIGHT, replace(DARK, width_in=4.2)])
def test_no_label_covers_another_or_is_cut_off_with_twenty_categories(folder, look):
    nights.wide(folder)
    figure = category_chart(NightView.load(folder), look)
    assert (overlapping(figure), cut_off(figure)) == ([], [])


def test_a_bound_far_out_ends_in_an_arrow_and_does_not_squeeze_the_others(folder):
    nights.wide(folder, {**nights.WIDE, "tiny (own)": (1, 1, 1)})  # its bounds are -0.9 and +0.9
    (axes,) = category_chart(NightView.load(folder)).axes
    left, right = axes.get_xlim()
    assert -0.75 < left < right < 0.75
    arrows = {line.get_marker(): float(line.get_xdata()[0]) for line in axes.lines if line.get_marker() in ("<", ">")}
    assert arrows == {"<": left, ">": right}


def test_the_alternative_text_tells_deltas_bounds_and_words(folder):
    nights.wide(folder)
    alt = category_picture(NightView.load(folder)).alt
    assert "training gate −0.31, at least −0.40, at most −0.22: worse" in alt
    assert "composite +0.02, at least −0.01, at most +0.049: open" in alt


def test_an_older_night_has_no_upper_bound_and_the_caption_says_so(folder):
    nights.staged(folder)
    picture = category_picture(NightView.load(folder))
    assert "The whisker ends at the least true delta (95%, one-sided)." in picture.caption
    assert "at most" not in picture.alt


def test_a_night_without_gate_or_training_says_so_in_its_charts(folder):
    view = NightView.load(folder)
    assert words_in(category_chart(view)) == ["no categories were compared"]
    assert words_in(loss_chart(view)) == ["no losses were recorded"]


def test_names_are_never_read_as_formulas_or_markup(folder):
    row = {"category": r"$\frac{a}$ <b>&", "production": 0.5, "candidate": 0.6, "delta": 0.1}
    write_json(folder / "gate.json", {"rule": {"categories": [row], "composite_delta": 0.1}})
    assert "$\\frac{a}$ &lt;b&gt;&amp;" in words_in(category_chart(NightView.load(folder)))


def test_an_unscored_category_is_drawn_as_such(folder):
    row = {"category": "settings", "production": 0.5, "candidate": None, "delta": None}
    write_json(folder / "gate.json", {"rule": {"categories": [row], "composite_delta": None}})
    assert "not scored" in words_in(category_chart(NightView.load(folder)))


def test_losses_that_are_no_numbers_are_left_out(folder):
    (folder / "train.json").write_text('{"losses": [2.0, null, "x", true, 1.5]}')
    view = NightView.load(folder)
    assert losses(view) == [2.0, 1.5]
    assert loss_picture(view).alt == "Training loss from 2.00 to 1.50 in 2 steps."


def test_the_same_night_is_drawn_with_the_same_bytes(folder):
    nights.staged(folder)
    view = NightView.load(folder)
    assert svg_uri(category_chart(view)) == svg_uri(category_chart(view))


def test_a_picture_follows_the_readers_colours_and_width_and_has_words(folder):
    nights.staged(folder)
    html = category_picture(NightView.load(folder)).html()
    assert html.count("<source media=") == 3
    assert html.count('alt="Delta of candidate to production per category.') == 1
    assert set(re.findall(r'(?:src|srcset)="(.{26})', html)) == {"data:image/svg+xml;base64,"}


@pytest.mark.slow
def test_drawing_does_not_import_pyplot(folder):
    script = (
        "import sys; from pathlib import Path; from cipher_nb.bus.frame import frame_of;"
        "from cipher_nb.report import charts, history, view;"
        f"charts.category_picture(view.NightView.load(Path({str(folder)!r}))).html();"
        "history.timeline_picture(frame_of([])).html(); print('matplotlib.pyplot' in sys.modules)"
    )
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert out.stdout == "False\n"
