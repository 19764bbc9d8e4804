import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from referencing.exceptions import Unresolvable

from cipher_nb.battery.code import code_of
from cipher_nb.battery.json_scorers import json_equal, json_valid
from cipher_nb.battery.scorers import choose, exact, first_number, normalised, numeric, regex, same_line, score
from tests.battery.makers import sample


@pytest.mark.parametrize(
    "answer", ["git.commit", " git.commit\n", "`git.commit`", '"Git.Commit".', "```\ngit.commit\n```", "**git.commit**"]
)
def test_normalised_looks_past_quotes_case_fences_and_full_stop(answer):
    assert same_line("git.commit", answer) == 1.0


@pytest.mark.parametrize("answer", ["", "git.commitAll", "run git.commit", "git. commit", "no\ngit.commit"])
def test_normalised_refuses_anything_else(answer):
    assert same_line("git.commit", answer) == 0.0


def test_exact_forgives_white_space_at_the_ends_and_nothing_else():
    assert exact("a  B\nc", " a  B\nc\n") == 1.0
    assert [exact("a  B", answer) for answer in ("a B", "a  b", "`a  B`", "a  B.")] == [0.0] * 4


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


TOOL = '{"type": "object", "required": ["tool"], "properties": {"tool": {"enum": ["read", "run"]}}}'


@pytest.mark.parametrize("answer", ['{"tool": "read"}', 'Here:\n```json\n{"path": "a", "tool": "run"}\n```'])
def test_schema_takes_the_first_json_value_that_is_valid_under_it(answer):
    assert json_valid(TOOL, answer) == 1.0


@pytest.mark.parametrize(
    "answer", ["", "read", '{"tool": "write"}', '[{"tool": "read"}]', '{"tool": "read"', "{} {}", "[" * 100_000]
)
def test_schema_scores_the_invalid_and_the_broken_zero(answer):
    assert json_valid(TOOL, answer) == 0.0


def test_schema_scores_what_is_nested_too_deep_zero():
    assert json_valid('{"items": {"$ref": "#"}}', "[" * 900 + "]" * 900) == 0.0


def test_a_reference_out_of_the_schema_is_never_fetched():
    with pytest.raises(Unresolvable):
        json_valid('{"$ref": "http://127.0.0.1:9/schema.json"}', "{}")


@pytest.mark.parametrize(
    ("answer", "number"),
    [
        ("It is 42.", 42),
        ("-3.5", -3.5),
        ("−7", -7),
        ("$1,234,567.50 in all", 1234567.5),
        ("x = 1e-3", 0.001),
        (".25 or 0.5", 0.25),
        ("10-3", 10),
        ("step2 gives 9", 9),
        ("1,2,3", 1),
        ("none", None),
    ],
)
def test_the_first_number_of_a_text(answer, number):
    assert first_number(answer) == number


def test_numeric_is_right_to_a_millionth():
    assert numeric("1,000,000", "1000000.9") == 1.0
    assert numeric("1000000", "1000002") == 0.0
    assert numeric("0", "-0.0") == 1.0
    assert numeric("7", "seven") == 0.0


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


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        ("x = 1", "x = 1"),
        ("Sure:\n```python\nx = 1\n```\nand\n```\ny = 2\n```", "x = 1\n"),
        ("```\nx = 1\nprint(", "x = 1\nprint("),
        ('```py\ns = "```"\n  ```', 's = "```"\n'),
    ],
)
def test_code_is_the_first_fenced_block_else_the_whole_answer(answer, code):
    assert code_of(answer) == code


def test_code_is_run_before_its_tests_and_scored_by_how_that_ends():
    asked = replace(sample("q", target="assert f(2) == 4"), scorer="code")
    programs: list[str] = []

    def run_code(program: str) -> bool | None:
        programs.append(program)
        return (True, False, None)[len(programs) - 1]

    answer = "```python\ndef f(x): return 2 * x\n```"
    assert [score(asked, answer, run_code=run_code) for _ in range(3)] == [1.0, 0.0, None]
    assert programs[0] == "def f(x): return 2 * x\n\nassert f(2) == 4\n"


def test_code_is_unscored_where_nothing_can_run_it():
    assert score(replace(sample("q"), scorer="code"), "x = 1") is None


@given(st.text())
def test_normalising_twice_changes_nothing(text):
    assert normalised(normalised(text)) == normalised(text)


@given(st.text(), st.text(min_size=1))
def test_every_answer_gets_zero_or_one(answer, target):
    for scorer in (exact, same_line, numeric):
        assert scorer(target, answer) in (0.0, 1.0)
    assert json_equal('{"a": 1}', answer) in (0.0, 1.0)
    assert json_valid(TOOL, answer) in (0.0, 1.0)
