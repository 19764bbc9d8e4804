"""A night is read from its folder, whatever is missing or broken there."""

from cipher_nb.report.view import Answer, NightView
from tests.report import nights


def test_an_empty_folder_is_a_night_that_died(folder):
    view = NightView.load(folder)
    assert (view.status, view.run_id, view.verdict, view.answers) == ("died", "2026-11-30-0200", "", ())
    assert view.unfinished == ("collect", "train", "export", "battery", "gate", "stage", "changelog")


def test_a_folder_that_does_not_exist_is_an_empty_view(tmp_path):
    assert NightView.load(tmp_path / "none").finished == ()


def test_a_torn_part_counts_as_missing_and_is_named(folder):
    nights.died(folder)
    view = NightView.load(folder)
    assert view.finished == ("collect",)
    (broken,) = view.broken
    assert broken.startswith("train.json is not valid JSON")
    assert str(folder) not in broken


def test_a_part_of_another_shape_counts_as_missing(folder):
    (folder / "gate.json").write_text("[1, 2]")
    (folder / "night.json").write_text('{"status": 7}')
    view = NightView.load(folder)
    assert view.gate is None
    assert view.status == "died"
    assert view.broken == ("gate.json is not a JSON object",)


def test_a_whole_night_is_read_with_both_sides_answers(folder):
    nights.staged(folder)
    view = NightView.load(folder)
    assert (view.status, view.adapter, view.unfinished, view.broken) == ("staged", nights.ADAPTER, (), ())
    assert len(view.answers) == 4 * 48
    first = view.answers[0]
    answer = first.candidate_answer
    assert first == Answer(first.sample, "command registry", 1.0, 1.0, answer, answer, "find")
    assert view.asked == {"per_category": 48, "seed": 1}


def test_results_outside_the_night_are_not_read(folder):
    nights.staged(folder)
    (folder / "production.jsonl").rename(folder.parent / "production.jsonl")
    nights.write_json(
        folder / "battery.json",
        {"production_results": "../production.jsonl", "candidate_results": "candidate.jsonl"},
    )
    assert NightView.load(folder).answers == ()
