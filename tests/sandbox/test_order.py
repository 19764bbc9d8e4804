from __future__ import annotations

import pytest

from cipher_nb.sandbox.checks.order import by_cost


def test_cheap_kinds_come_first_and_each_keeps_its_order():
    commands = ["python -m pytest -q", "./smoke.sh", "mypy .", "ruff check .", "npm test", "ruff format --check ."]
    assert by_cost(commands) == (
        ("ruff check .", "ruff format --check ."),
        ("mypy .",),
        ("python -m pytest -q", "npm test"),
        ("./smoke.sh",),
    )


def test_without_commands_there_are_no_groups():
    assert by_cost([]) == ()


@pytest.mark.parametrize(
    "commands",
    [
        (
            "/usr/bin/black --check .",
            "npx eslint src",
            "npm run lint",
            "cargo fmt --check",
            "make lint",
            "go vet ./...",
        ),
        ("uv run mypy", "npx tsc --noEmit", "cargo check", "npm run typecheck", "python -m pyright"),
        (
            "cargo test",
            "go test ./...",
            "make test",
            "npm run test:unit",
            "python -m unittest discover",
            "tox -e py311",
        ),
        ("python check.py", "make", "cargo build", "python -c 'import ruff'", "echo 'x", ""),
    ],
)
def test_each_of_these_is_of_one_kind(commands):
    assert by_cost(commands) == (commands,)


def test_the_first_word_that_tells_decides():
    assert by_cost(["pytest tests/lint", "ruff check tests"]) == (("ruff check tests",), ("pytest tests/lint",))
