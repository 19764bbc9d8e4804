"""Charts say in words and signs what they say in colours, and draw what the night left."""

import base64
import re
import subprocess
import sys

from cipher_nb.files import write_json
from cipher_nb.report.charts import category_chart, category_picture, loss_chart, loss_picture, losses
from cipher_nb.report.picture import svg_uri
from cipher_nb.report.view import NightView
from tests.report import nights


def words_in(figure):
    """Return every text of the drawn figure."""
    svg = base64.b64decode(svg_uri(figure).split(",")[1]).decode()
    return re.findall(r"<text[^>]*>([^<]*)</text>", svg)


def test_the_category_chart_labels_its_gate_and_every_delta(folder):
    nights.archived(folder)
    words = words_in(category_chart(NightView.load(folder)))
    assert "gate: production − 0.05" in words
    shown = ["−0.46  below the gate", "0.00", "0.00", "+0.42", "−0.01  below the gate"]
    assert [word for word in words if word in shown] == shown
    assert {"settings", "agent tools", "keybindings", "command registry", "composite"} <= set(words)


def test_the_alternative_text_tells_the_scores(folder):
    nights.staged(folder)
    alt = category_picture(NightView.load(folder)).alt
    assert "command registry 0.23 to 0.73 (+0.50)" in alt
    assert "composite 0.61 to 0.74 (+0.12)" in alt


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
    assert html.count('alt="Score of production and candidate per category.') == 1
    assert set(re.findall(r'(?:src|srcset)="(.{26})', html)) == {"data:image/svg+xml;base64,"}


def test_drawing_does_not_import_pyplot(folder):
    script = (
        "import sys; from pathlib import Path; from cipher_nb.bus.frame import frame_of;"
        "from cipher_nb.report import charts, history, view;"
        f"charts.category_picture(view.NightView.load(Path({str(folder)!r}))).html();"
        "history.timeline_picture(frame_of([])).html(); print('matplotlib.pyplot' in sys.modules)"
    )
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert out.stdout == "False\n"
