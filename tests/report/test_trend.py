"""The trend over nights: which there were, what became of them, and that it can be read."""

from dataclasses import replace

import orjson
import pytest

from cipher_nb.files import write_json
from cipher_nb.report.picture import DARK, LIGHT
from cipher_nb.report.trend import category_order, trend
from cipher_nb.report.trend_chart import trend_chart, trend_picture
from cipher_nb.workspace import Workspace
from tests.report import nights
from tests.report.figures import cut_off, overlapping
from tests.report.frames import words_in


@pytest.fixture
def ws(tmp_path):
    return Workspace.init(tmp_path)


def night(ws, name, *, delta=None, verdict="INCONCLUSIVE", version="1", categories=("memory", "exports")):
    """Leave a night in the workspace; without `delta` one that compared nothing."""
    folder = ws.paths.nights / name
    folder.mkdir(parents=True)
    if delta is None:
        return
    rows = [{"category": each, "production": 0.5, "candidate": 0.5 + delta, "delta": delta} for each in categories]
    rule = {"categories": rows, "production_composite": 0.5, "candidate_composite": 0.5 + delta}
    write_json(folder / "gate.json", {"rule": {**rule, "composite_delta": delta}, "verdict": verdict})
    write_json(folder / "battery.json", {"candidate_results": "candidate.jsonl"})
    header = {"fingerprint": "f", "base": "b", "adapter": "a", "battery_version": version, "engine": "e"}
    (folder / "candidate.jsonl").write_bytes(orjson.dumps(header) + b"\n")


def audit(ws, *rows):
    ws.paths.audit.write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows))


def test_nights_come_oldest_first_with_those_that_compared_nothing(ws):
    night(ws, "2026-11-02-0200", delta=0.02, verdict="PROVEN")
    night(ws, "2026-11-01-0200")
    night(ws, "2026-11-03-0200", delta=-0.2, verdict="REGRESSION")
    nights.died(ws.paths.nights / "2026-11-01-0200")
    points = trend(ws)
    assert [point.run_id[:10] for point in points] == ["2026-11-01", "2026-11-02", "2026-11-03"]
    assert [point.verdict for point in points] == ["", "PROVEN", "REGRESSION"]
    assert [point.composite and point.composite.delta for point in points] == [None, 0.02, -0.2]
    assert [point.day for point in points] == ["1 Nov", "2 Nov", "3 Nov"]


def test_a_night_is_applied_until_it_is_rolled_back(ws):
    for day in (1, 2, 3):
        night(ws, f"2026-11-0{day}-0200", delta=0.01)
    audit(
        ws,
        {"action": "apply", "status": "asked", "changelog": "2026-11-03-0200@0a"},
        {"action": "apply", "status": "done", "changelog": "2026-11-01-0200@0b"},
        {"action": "apply", "status": "done", "changelog": "2026-11-02-0200@0c"},
        {"action": "rollback", "status": "done", "changelog": ""},
    )
    assert [point.decision for point in trend(ws)] == ["applied", "rolled back", ""]


def test_the_chart_says_in_words_what_its_marks_mean(ws):
    night(ws, "2026-11-01-0200", delta=0.02, verdict="PROVEN")
    night(ws, "2026-11-02-0200")
    night(ws, "2026-11-03-0200", delta=-0.2, verdict="REGRESSION", version="2")
    audit(ws, {"action": "apply", "status": "done", "changelog": "2026-11-01-0200@0b"})
    words = words_in(trend_chart(trend(ws)))
    assert {"production", "PROVEN", "REGRESSION", "applied", "other questions", "– no result"} <= set(words)
    assert "INCONCLUSIVE" not in words
    assert [words.count(word) for word in ("0.52", "0.30 ✕")] == [2, 2]  # a number a category and night


def test_the_alternative_text_tells_the_newest_nights(ws):
    night(ws, "2026-11-01-0200", delta=0.02, verdict="PROVEN")
    night(ws, "2026-11-02-0200")
    audit(ws, {"action": "apply", "status": "done", "changelog": "2026-11-01-0200@0b"})
    assert trend_picture(trend(ws)).alt == (
        "Trend over 2 nights, 1 of them with a comparison. 2026-11-01-0200 PROVEN 0.52 (+0.02), applied."
    )


def test_without_a_comparison_there_is_a_sentence(ws):
    assert words_in(trend_chart(trend(ws))) == ["no night has compared anything yet"]
    night(ws, "2026-11-02-0200")
    assert words_in(trend_chart(trend(ws))) == ["no night has compared anything yet"]


def test_two_nights_of_one_day_are_told_apart_by_the_hour(ws):
    night(ws, "2026-11-01-0200", delta=0.01)
    night(ws, "2026-11-01-1400", delta=0.01)
    assert {"02:00", "14:00"} <= set(words_in(trend_chart(trend(ws))))


def test_a_category_that_is_new_or_gone_keeps_its_own_row(ws):
    night(ws, "2026-11-01-0200", delta=0.01, categories=("memory", "old"))
    night(ws, "2026-11-02-0200", delta=0.01, categories=("memory", "new"))
    assert category_order(trend(ws)) == ["memory", "new", "old"]


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, 3, 12, 60])
@pytest.mark.parametrize("look", [LIGHT, replace(DARK, width_in=4.2)])
def test_no_label_covers_another_or_is_cut_off_however_many_nights_there_were(ws, count, look):
    verdicts = ("PROVEN", "INCONCLUSIVE", "REGRESSION", "COULD_NOT_RUN")
    for number in range(count):
        delta = None if number % 7 == 3 else 0.01 * (number % 5 - 2)
        name = f"2026-{1 + number // 28:02}-{1 + number % 28:02}-0200"
        night(ws, name, delta=delta, verdict=verdicts[number % 4], version=f"{number // 55}", categories=nights.WIDE)
    names = [point.run_id for point in trend(ws)]
    audit(
        ws,
        *({"action": "apply", "status": "done", "changelog": f"{name}@0a"} for name in (names[0], names[-1])),
        {"action": "rollback", "status": "done"},
    )
    figure = trend_chart(trend(ws), look)
    assert (overlapping(figure), cut_off(figure)) == ([], [])
