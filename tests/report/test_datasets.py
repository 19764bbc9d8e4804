from cipher_nb.report.datasets import dataset_summary, left_out_table, sources_table
from cipher_nb.training.data.dataset import LeftOut, combine, freeze
from cipher_nb.training.data.pairs import Pair
from tests.report.frames import HOSTILE


def question(text, answer="yes", source="approved"):
    return Pair(({"role": "user", "content": text},), answer, source=source)


def frozen(tmp_path, **more):
    new = [
        *(question(f"What is {number} squared?", str(number * number)) for number in range(7)),
        question("what is 3 squared", "9"),
        question("Which key saves?", "ctrl+s", source="practice:keybindings"),
    ]
    replay = [question(f"Say {number}.", str(number), "replay") for number in range(20)]
    left_out = [LeftOut("task-1", "approved", "no gate passed"), LeftOut("task-2", "approved", "no gate passed")]
    path = tmp_path / "dataset.jsonl"
    settings = {"share": 0.3, "seed": 0, "sealed_texts": (), "left_out": left_out, **more}
    freeze(combine(new, replay, trained_before=[new[0].id], **settings), path)
    return path


def test_the_table_tells_where_pairs_came_from_and_what_became_of_them(tmp_path):
    assert repr(sources_table(frozen(tmp_path))).splitlines() == [
        "From                   Came in  Left out  Not needed  In the dataset  Share",
        "approved work          10       3         0           7               63.6%",
        "practice: keybindings  1        0         0           1               9.1%",
        "replay                 20       0         17          3               27.3%",
        "in total               31       3         17          11              100.0%",
    ]


def test_the_reasons_are_counted_with_an_example_each(tmp_path):
    path = frozen(tmp_path)
    first, second = question("What is 3 squared?", "9"), question("what is 3 squared", "9")
    assert left_out_table(path).rows == [
        ("approved work", "no gate passed", "2", "task-1: no gate passed"),
        ("approved work", "duplicate of another pair", "1", f"{second.id}: duplicate of {first.id}"),
    ]


def test_one_sentence_tells_what_is_new_and_how_much_is_replay(tmp_path):
    assert dataset_summary(frozen(tmp_path)) == (
        "11 pairs: 6 new, 1 of earlier nights, 1 of practice, 3 of replay (27.3%, 30% were asked for)."
    )
    assert dataset_summary(frozen(tmp_path, share=0.8)) == (
        "28 pairs: 6 new, 1 of earlier nights, 1 of practice, 20 of replay (71.4%, 80% were asked for). "
        "Note: replay: 20 pairs instead of 32."
    )


def test_without_a_dataset_the_tables_say_so(tmp_path):
    path = tmp_path / "none.jsonl"
    assert dataset_summary(path) == "No dataset was frozen."
    assert (repr(sources_table(path)), repr(left_out_table(path))) == (
        "No dataset was frozen.",
        "No pair was left out.",
    )


def test_a_night_that_found_too_little_says_what_it_left_out(tmp_path):
    table = left_out_table(tmp_path / "none.jsonl", work=[["task-1", "no gate passed"]])
    assert table.rows == [("approved work", "no gate passed", "1", "task-1: no gate passed")]


def test_many_reasons_are_summed_up(tmp_path):
    rows = [LeftOut(f"t{number}", "approved", f"reason {number:02}") for number in range(30)]
    assert left_out_table(frozen(tmp_path, left_out=rows)).rows[-1] == ("", "11 further reasons", "11", "")


def test_hostile_text_stays_inert(tmp_path):
    rows = [LeftOut(HOSTILE, HOSTILE, HOSTILE)]
    html = left_out_table(frozen(tmp_path, left_out=rows)).html()
    assert "<script" not in html
    assert "&lt;" in html
