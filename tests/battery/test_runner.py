import random
import time
from dataclasses import replace

import pytest

from cipher_nb.battery.code import RunCode
from cipher_nb.battery.results import append_row, read_results
from cipher_nb.battery.runner import run
from cipher_nb.errors import BatteryError, EngineError
from tests.battery.makers import header, sample, scripted

SAMPLES = [sample(f"question {number}") for number in range(12)]


def test_rows_come_in_the_order_of_the_samples_whatever_the_threads_do(tmp_path):
    def slowly(question: str) -> str:
        time.sleep(random.random() / 50)
        return "yes" if question.endswith(("1", "5")) else "no"

    found = run(SAMPLES, model=scripted(slowly), path=tmp_path / "r.jsonl", header=header())
    assert [row.sample for row in found.rows] == [s.id for s in SAMPLES]
    assert [row.score for row in found.rows] == [0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1]
    assert sorted(read_results(tmp_path / "r.jsonl").rows, key=str) == sorted(found.rows, key=str)


def test_a_second_run_asks_only_what_is_missing(tmp_path):
    path = tmp_path / "r.jsonl"
    first, second = scripted(lambda _: "yes"), scripted(lambda _: "yes")
    run(SAMPLES[:5], model=first, path=path, header=header())
    found = run(SAMPLES, model=second, path=path, header=header())
    assert sorted(second.questions) == sorted(s.user_text for s in SAMPLES[5:])
    assert len(found.rows) == 12


def test_a_row_without_an_answer_is_asked_again(tmp_path):
    path = tmp_path / "r.jsonl"
    run(SAMPLES[:2], model=scripted(_down), path=path, header=header())
    found = run(SAMPLES[:2], model=scripted(lambda _: "yes"), path=path, header=header())
    assert [row.score for row in found.rows] == [1, 1]
    assert read_results(path).rows == found.rows


def test_code_that_could_not_be_run_has_no_score_but_a_reason_and_is_asked_again(tmp_path):
    path, asked = tmp_path / "r.jsonl", replace(SAMPLES[0], scorer="code", target="assert True")
    model = scripted(lambda _: "x = 1")

    def ask(run_code: RunCode | None) -> tuple[float | None, str]:
        (row,) = run([asked], model=model, path=path, header=header(), run_code=run_code).rows
        return row.score, row.error

    assert ask(None) == (None, "its code was not run: nothing was given to run it")
    assert ask(lambda _: None) == (None, "its code could not be run held in; see: cipher-nb doctor")
    assert ask(lambda program: program == "x = 1\nassert True\n") == (1.0, "")
    assert ask(None) == (1.0, "")
    assert len(model.questions) == 3


def test_samples_that_begin_alike_are_asked_together_and_none_twice(tmp_path):
    mixed = [replace(each, family="ab"[number % 2]) for number, each in enumerate(SAMPLES[:4])]
    model = scripted(lambda _: "yes")
    found = run([*mixed, mixed[0]], model=model, path=tmp_path / "r.jsonl", header=header(), workers=1)
    assert model.questions == ["question 0", "question 2", "question 1", "question 3"]
    assert [row.score for row in found.rows] == [1, 1, 1, 1]


def test_results_of_another_fingerprint_are_refused_and_left_alone(tmp_path):
    path = tmp_path / "r.jsonl"
    run(SAMPLES[:2], model=scripted(lambda _: "yes"), path=path, header=header("base"))
    before = path.read_bytes()
    with pytest.raises(BatteryError, match="choose another file"):
        run(SAMPLES, model=scripted(lambda _: "yes"), path=path, header=header("other"))
    assert path.read_bytes() == before


def test_a_sample_gets_one_retry_and_then_a_row_without_score(tmp_path):
    model = scripted(_down)
    found = run(SAMPLES[:1], model=model, path=tmp_path / "r.jsonl", header=header())
    assert len(model.questions) == 2
    assert (found.rows[0].score, found.rows[0].error) == (None, "server at :1 is gone; start it")


def test_one_failure_costs_nothing(tmp_path):
    failures = iter([True])

    def once(_: str) -> str:
        return _down(_) if next(failures, False) else "yes"

    found = run(SAMPLES[:4], model=scripted(once), path=tmp_path / "r.jsonl", header=header(), workers=1)
    assert [row.score for row in found.rows] == [1, 1, 1, 1]


def test_choices_are_picked_by_probability_and_nothing_is_generated(tmp_path):
    asked = sample("which", target="read", choices=("read", "run"))
    model = scripted(_down, logprobs={" re": -0.1, "ru": -3.0})
    found = run([asked], model=model, path=tmp_path / "r.jsonl", header=header())
    assert (found.rows[0].answer, found.rows[0].score) == ("read", 1)


def test_progress_counts_to_the_end_and_starts_with_what_is_known(tmp_path):
    path = tmp_path / "r.jsonl"
    run(SAMPLES[:9], model=scripted(lambda _: "yes"), path=path, header=header())
    seen: list[tuple[int, int]] = []
    run(SAMPLES, model=scripted(lambda _: "yes"), path=path, header=header(), on_progress=lambda *at: seen.append(at))
    assert seen == [(9, 12), (10, 12), (11, 12), (12, 12)]


def test_a_stop_keeps_what_is_answered_and_the_next_run_goes_on(tmp_path):
    path, model = tmp_path / "r.jsonl", scripted(lambda _: "yes")
    found = run(
        SAMPLES, model=model, path=path, header=header(), workers=1, should_stop=lambda: len(model.questions) >= 3
    )
    assert len(found.rows) == len(read_results(path).rows) == 3
    assert len(run(SAMPLES, model=model, path=path, header=header()).rows) == 12
    assert len(model.questions) == 12


def test_a_torn_tail_costs_its_own_row_only(tmp_path):
    path = tmp_path / "r.jsonl"
    run(SAMPLES[:3], model=scripted(lambda _: "yes"), path=path, header=header(), workers=1)
    path.write_bytes(path.read_bytes()[:-9])
    model = scripted(lambda _: "yes")
    assert len(run(SAMPLES[:3], model=model, path=path, header=header()).rows) == 3
    assert model.questions == ["question 2"]


def test_an_error_that_is_not_the_engines_ends_the_run_but_keeps_the_rows(tmp_path):
    path = tmp_path / "r.jsonl"

    def broken(question: str) -> str:
        if question == "question 3":
            raise ZeroDivisionError
        return "yes"

    with pytest.raises(ZeroDivisionError):
        run(SAMPLES, model=scripted(broken), path=path, header=header(), workers=1)
    assert len(read_results(path).rows) >= 3


def test_rows_that_the_run_does_not_ask_for_stay_out_of_its_results(tmp_path):
    path = tmp_path / "r.jsonl"
    run(SAMPLES, model=scripted(lambda _: "yes"), path=path, header=header())
    assert len(run(SAMPLES[2:4], model=scripted(_down), path=path, header=header()).rows) == 2


def test_appending_a_row_by_hand_is_read_like_any_other(tmp_path):
    path = tmp_path / "r.jsonl"
    found = run(SAMPLES[:1], model=scripted(lambda _: "yes"), path=path, header=header())
    append_row(path, found.rows[0])
    assert len(read_results(path).rows) == 1


def _down(_: str) -> str:
    raise EngineError("server at :1 is gone; start it")
