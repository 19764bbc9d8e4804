from __future__ import annotations

import pytest

from cipher_nb.sandbox.checks.protection import protected_paths


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("tests/**", "tests/test_a.py"),
        ("tests/**", "tests/unit/deep/test_a.py"),
        ("tests/", "tests/unit/test_a.py"),
        ("tests", "packages/app/tests/test_a.py"),
        ("conftest.py", "conftest.py"),
        ("conftest.py", "src/app/conftest.py"),
        ("test_*.py", "src/test_a.py"),
        ("/conftest.py", "conftest.py"),
        ("**/fixtures/*.json", "fixtures/a.json"),
        ("**/fixtures/*.json", "a/b/fixtures/c.json"),
        ("a/**/z.txt", "a/z.txt"),
        ("a/**/z.txt", "a/b/c/z.txt"),
        (".github/**", ".github/workflows/ci.yml"),
        ("conftest.py", "Conftest.PY"),
        ("tests/**", "./tests/../tests/test_a.py"),
        ("file[0-9].txt", "file7.txt"),
    ],
)
def test_a_path_is_protected(pattern, path):
    assert protected_paths([path], protected=[pattern], intent="make it pass") == (path,)


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("tests/**", "src/tests/test_a.py"),
        ("tests/**", "tests.py"),
        ("tests/*.py", "tests/unit/test_a.py"),
        ("/conftest.py", "src/conftest.py"),
        ("conftest.py", "my_conftest.py"),
        ("tests", "src/tests_of_mine.py"),
        ("**/a.py", "b.py"),
    ],
)
def test_a_path_is_not_protected(pattern, path):
    assert protected_paths([path], protected=[pattern], intent="") == ()


def test_a_later_pattern_can_take_back_and_the_order_is_kept():
    touched = ["tests/data/a.json", "src/app.py", "tests/test_b.py", "tests/test_a.py"]
    assert protected_paths(touched, protected=["tests/**", "!tests/data/**"], intent="") == (
        "tests/test_b.py",
        "tests/test_a.py",
    )


@pytest.mark.parametrize(
    "intent",
    [
        "extend tests/unit/test_a.py for empty lists",
        "Fix ./tests/unit/test_a.py.",
        "the fixture in `test_a.py` is wrong",
        "Test_A.py, please",
    ],
)
def test_what_the_operator_names_is_not_protected(intent):
    assert protected_paths(["tests/unit/test_a.py"], protected=["tests/**"], intent=intent) == ()


@pytest.mark.parametrize(
    "intent",
    [
        "fix the tests",
        "fix test_a",
        "fix other/test_a.py",
        "fix my_test_a.py",
        "fix test_a.py.bak",
        "fix test_a.pyx",
        "",
    ],
)
def test_another_name_does_not_take_protection_away(intent):
    assert protected_paths(["tests/unit/test_a.py"], protected=["tests/**"], intent=intent) == ("tests/unit/test_a.py",)


def test_without_patterns_nothing_is_protected():
    assert protected_paths(["tests/test_a.py"], protected=[], intent="") == ()
