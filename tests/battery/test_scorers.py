import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cipher_nb.battery.scorers import choose, exact, json_equal, normalised, regex, score
from tests.battery.makers import sample


@pytest.mark.parametrize(
    "answer", ["git.commit", " git.commit\n", "`git.commit`", '"Git.Commit".', "```\ngit.commit\n```", "**git.commit**"]
)
def test_exact_looks_past_quotes_case_fences_and_full_stop(answer):
    assert exact("git.commit", answer) == 1.0


@pytest.mark.parametrize("answer", ["", "git.commitAll", "run git.commit", "git. commit", "no\ngit.commit"])
def test_exact_refuses_anything_else(answer):
    assert exact("git.commit", answer) == 0.0


@pytest.mark.parametrize(
    "answer",
    [
        '{"tool": "read", "path": "a"}',
        '{"path":"a","tool":"read"}',
        'Sure:\n```json\n{"tool": "read",\n "path": "a"}\n```',
        '{"tool": "read", "path": "a"} and then more',
    ],
)
def test_json_ignores_spacing_order_and_what_stands_around(answer):
    assert json_equal('{"tool": "read", "path": "a"}', answer) == 1.0


@pytest.mark.parametrize(
    "answer", ["", "read a", '{"tool": "read"}', '{"tool": "read", "path": "a"', "[" * 100_000, '{"tool": NaN}']
)
def test_json_scores_the_broken_and_the_different_zero(answer):
    assert json_equal('{"tool": "read", "path": "a"}', answer) == 0.0


def test_json_keeps_true_apart_from_one():
    assert json_equal('{"a": 1}', '{"a": true}') == 0.0


def test_regex_must_match_the_whole_first_line():
    assert regex(r"ctrl\+\w", "Ctrl+K") == 1.0
    assert regex(r"ctrl\+\w", "ctrl+k ctrl+s") == 0.0


def test_only_a_missing_answer_is_unscored():
    assert score(sample("q"), None) is None
    assert score(sample("q"), "") == 0.0


def test_choose_adds_up_the_tokens_that_fit_one_choice_only():
    logprobs = {"re": math.log(0.5), "rea": math.log(0.1), " Run": math.log(0.2), "zzz": math.log(0.2)}
    assert choose(("read", "run"), logprobs) == "read"
    assert choose(("read", "rename", "run"), logprobs) == "run"


def test_choose_finds_none_where_no_token_fits():
    assert choose(("read", "run"), {"The": -0.1, "": -0.2, " ": -0.3}) == ""


@given(st.text())
def test_normalising_twice_changes_nothing(text):
    assert normalised(normalised(text)) == normalised(text)


@given(st.text(), st.text(min_size=1))
def test_every_answer_gets_zero_or_one(answer, target):
    assert exact(target, answer) in (0.0, 1.0)
    assert json_equal('{"a": 1}', answer) in (0.0, 1.0)
