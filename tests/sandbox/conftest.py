"""A small real project under real git, for the tests of the sandbox and of tasks."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

BROKEN = "def add(a, b):\n    return a - b\n"
TEST = "from calc import add\n\n\ndef test_add():\n    assert add(2, 3) == 5\n"


def git(root: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=True)
    return done.stdout


def make_project(root: Path) -> Path:
    root.mkdir()
    (root / "calc.py").write_text(BROKEN)
    (root / "test_calc.py").write_text(TEST)
    (root / "notes.txt").write_text("one\n")
    (root / "pytest.ini").write_text("[pytest]\naddopts = -p no:nbval -p no:hypothesispytest\n")  # slow to import
    (root / ".gitignore").write_text("*.log\n.aide/\n__pycache__/\n")
    git(root, "init", "--quiet", "--initial-branch=main")
    git(root, "config", "user.name", "Operator")
    git(root, "config", "user.email", "operator@example.org")
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message=start")
    return root


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A git repository with a wrong `calc.add` and a test that says so."""
    return make_project(tmp_path / "project")
