import json
import random
import subprocess
import sys

import pytest

from cipher_nb.battery.families.code import ALL_TASKS, CATEGORY, FAMILIES, drawn

TRY_ALL = """
import contextlib, io, json, sys
def outcome(code):
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed):
            exec(code, {})
    except Exception as error:
        return type(error).__name__
    return printed.getvalue()
print(json.dumps([outcome(code) for code in json.load(sys.stdin)]))
"""
SIDES = ("sealed", "practice")


def outcomes(programs: list[str]) -> list[str]:
    """What each program printed, or the name of what it raised, in a Python that knows nothing of ours."""
    found = subprocess.run(
        [sys.executable, "-I", "-c", TRY_ALL],
        input=json.dumps(programs),
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return json.loads(found.stdout)


def samples(name: str, side: str, count: int = 300):
    family = next(family for family in FAMILIES if family.name == name)
    return family.samples(CATEGORY, count, side=side, seed=5)


def functions():
    rng = random.Random(3)
    return [drawn(task, takes, rng, side) for takes, task in ALL_TASKS for side in SIDES for _ in range(6)]


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("name", ["write", "repair"])
def test_every_reference_passes_its_own_tests_and_an_empty_answer_fails_them(name, side):
    asked = samples(name, side)
    assert set(outcomes([f"{sample.reference}\n{sample.target}" for sample in asked])) == {""}
    assert set(outcomes([f"\n{sample.target}" for sample in asked])) == {"NameError"}
    assert min(sample.target.count("assert ") for sample in asked) >= 4


def test_every_wrong_body_fails_the_tests():
    tried = [f"{wrong}\n{function.tests}" for function in functions() for wrong in function.wrong]
    assert set(outcomes(tried)) <= {"AssertionError", "NameError", "SyntaxError", "IndexError", "ValueError"}


@pytest.mark.parametrize("body", ["pass", "return None", "return {x}", "return 0", "return ''", "return []"])
def test_a_lazy_body_fails_the_tests(body):
    tried = [
        f"{function.header}\n    {body.format(x=function.header[:-2].split('(')[1])}\n{function.tests}"
        for function in functions()
    ]
    assert set(outcomes(tried)) <= {"AssertionError"}


@pytest.mark.parametrize("side", SIDES)
def test_a_snippet_prints_its_target(side):
    asked = samples("output", side)
    assert outcomes([sample.user_text for sample in asked]) == [f"{sample.target}\n" for sample in asked]


@pytest.mark.parametrize("side", SIDES)
def test_only_the_line_that_is_the_target_raises(side):
    asked = samples("line", side)
    lines = [line for sample in asked for line in sample.user_text.splitlines()]
    raised = iter(outcomes([line.partition(": ")[2] for line in lines]))
    failing = [[place for place in ("1", "2", "3", "4") if next(raised)] for _ in asked]
    assert failing == [[sample.target] for sample in asked]


def test_the_named_error_is_what_python_raises():
    prefix = "Error from: "
    asked = [sample for sample in samples("name", "sealed") if sample.user_text.startswith(prefix)]
    assert len({sample.target for sample in asked}) == 7
    assert outcomes([sample.user_text.removeprefix(prefix) for sample in asked]) == [s.target for s in asked]


def test_only_the_named_built_in_gives_the_value():
    asked = [sample for sample in samples("name", "practice") if sample.user_text.startswith("____")]
    assert {sample.target for sample in asked} == {"len", "max", "min", "sum", "any", "tuple", "sorted"}
    calls = [sample.user_text.removesuffix(". Which built-in?").partition(" gives ") for sample in asked]
    names = asked[0].choices
    tried = [f"assert repr({call.replace('____', name)}) == {value!r}" for call, _, value in calls for name in names]
    failed = iter(outcomes(tried))
    assert [[name for name in names if not next(failed)] for _ in asked] == [[sample.target] for sample in asked]
