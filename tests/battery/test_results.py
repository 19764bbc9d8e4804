import json

import pytest

from cipher_nb.battery.results import Results, Row, fingerprint_of, read_results, write_results
from cipher_nb.errors import BatteryError
from tests.battery.makers import header, ones, results


def test_a_category_scores_its_mean_and_the_composite_is_the_plain_mean_of_categories():
    found = results({"a": ones(1, 4), "b": ones(1, 1)})
    assert found.category_scores() == {"a": 0.25, "b": 1.0}
    assert found.composite() == 0.625


def test_unscored_rows_stay_out_of_the_mean_and_are_named():
    found = results({"a": [1.0, None, 0.0], "b": [None]})
    assert found.category_scores() == {"a": 0.5}
    assert [row.sample for row in found.unscored] == ["a-1", "b-0"]


def test_a_composite_of_nothing_is_refused():
    with pytest.raises(BatteryError, match="no scored sample"):
        results({}).composite()


def test_results_survive_the_file(tmp_path):
    row = Row("s", "c", "f", None, "", error="timed out")
    found = Results(header("x", settings={"slots": 4}), (row, Row("t", "c", "f", 0.5, "ja ü")))
    write_results(tmp_path / "r.jsonl", found)
    assert read_results(tmp_path / "r.jsonl") == found


def test_the_lines_have_the_documented_form(tmp_path):
    write_results(tmp_path / "r.jsonl", Results(header(), (Row("s", "c", "f", 1.0, "yes"),)))
    first, second = map(json.loads, (tmp_path / "r.jsonl").read_text().splitlines())
    assert first["fingerprint"] == header().fingerprint
    assert second == {"sample": "s", "category": "c", "family": "f", "score": 1.0, "answer": "yes"}


def test_a_foreign_file_without_header_and_family_is_read(tmp_path):
    path = tmp_path / "r.jsonl"
    path.write_text('{"sample": "s", "category": "c", "score": 1, "answer": "x"}\n')
    assert read_results(path) == Results(None, (Row("s", "c", "", 1, "x"),))


@pytest.mark.parametrize(
    "line",
    [
        '{"sample": "t", "category',
        '{"sample": "t", "category": "c", "score": 2}',
        "[]",
        '{"sample":"t","category":"c","score":true}',
        '{"sample":"t","category":"c"}',
    ],
)
def test_torn_and_foreign_lines_are_left_out(tmp_path, line):
    path = tmp_path / "r.jsonl"
    path.write_text('{"sample": "s", "category": "c", "score": 0.5, "answer": "x"}\n' + line)
    assert [row.sample for row in read_results(path).rows] == ["s"]


def test_every_cut_of_a_file_reads_as_its_whole_rows(tmp_path):
    whole, path = tmp_path / "whole.jsonl", tmp_path / "cut.jsonl"
    write_results(whole, results({"c": ones(1, 3)}, head=header()))
    data = whole.read_bytes()
    lengths = [len(data[:end].splitlines()) for end in range(len(data))]
    for cut in range(data.index(b"\n") + 1, len(data)):
        path.write_bytes(data[:cut])
        assert len(read_results(path).rows) in (lengths[cut] - 2, lengths[cut] - 1)


def test_the_later_of_two_rows_for_a_sample_counts(tmp_path):
    path = tmp_path / "r.jsonl"
    path.write_text(
        '{"sample": "s", "category": "c", "score": null, "answer": ""}\n'
        '{"sample": "t", "category": "c", "score": 0, "answer": ""}\n'
        '{"sample": "s", "category": "c", "score": 1, "answer": "x"}\n'
    )
    assert [(row.sample, row.score) for row in read_results(path).rows] == [("s", 1), ("t", 0)]


def test_a_missing_file_is_refused_by_name(tmp_path):
    with pytest.raises(BatteryError, match=r"none\.jsonl are missing or hold no row"):
        read_results(tmp_path / "none.jsonl")


def test_the_fingerprint_changes_with_each_part_and_not_with_key_order():
    parts = {"base": "b", "adapter": "a", "battery_version": "v", "engine": "e", "settings": {"x": 1, "y": 2}}
    known = fingerprint_of(**parts)
    assert known == fingerprint_of(**{**parts, "settings": {"y": 2, "x": 1}})
    assert known not in {fingerprint_of(**{**parts, name: "other"}) for name in ("base", "adapter", "engine")}
    assert known != fingerprint_of(**{**parts, "settings": {"x": 1, "y": 3}})
