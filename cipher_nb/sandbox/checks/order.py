"""In which order checks run: what is cheap to find is found first."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from itertools import pairwise
from pathlib import PurePosixPath

KINDS = (
    re.compile(
        r"ruff|black|isort|flake8|pylint|pycodestyle|pydocstyle|autopep8|yapf|bandit|lint-imports|pre-commit|codespell"
        r"|eslint|prettier|biome|stylelint|gofmt|golangci-lint|staticcheck|go vet|rustfmt|clippy|clang-format"
        r"|clang-tidy|shellcheck|shfmt|yamllint|lint|fmt|format"
    ),
    re.compile(r"mypy|dmypy|pyright|basedpyright|pyre|ty|tsc|cargo check|types|typecheck|type-check"),
    re.compile(r"pytest|py\.test|unittest|doctest|tox|nox|jest|vitest|mocha|ava|karma|playwright|ctest|nextest|tests?"),
)
OTHERS = len(KINDS)
NAMED_WITHIN = 3


def by_cost(commands: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """Return `commands` in groups of one kind, the cheapest kind first: format and lint, types, tests, others.

    Within a group the order is kept; a kind that is not there has no group.
    """
    kinds = [_kind(command) for command in commands]
    groups = [
        tuple(command for command, kind in zip(commands, kinds, strict=True) if kind == wanted)
        for wanted in range(OTHERS + 1)
    ]
    return tuple(group for group in groups if group)


def _kind(command: str) -> int:
    """Say which of KINDS, by the first word that tells: `npm run test:unit` as well as `python -m mypy`."""
    try:
        words = [PurePosixPath(word).name for word in shlex.split(command) if not word.startswith("-")]
    except ValueError:
        return OTHERS
    for before, word in pairwise(["", *words[:NAMED_WITHIN]]):
        for name in (f"{before} {word}", word, word.partition(":")[0]):
            for kind, names in enumerate(KINDS):
                if names.fullmatch(name):
                    return kind
    return OTHERS
