"""The checks a project brings along, for when nobody named any."""

from __future__ import annotations

import configparser
import json
import os
import re
import shutil
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

NPM_PLACEHOLDER = "no test specified"
TEST_FOLDERS = ("tests", "test")
MYPY_TARGETS = ("files", "packages", "modules")


def find_checks(root: Path) -> tuple[str, ...]:
    """Return the commands that the project in `root` is set up for and whose programs are installed, cheapest first.

    `make test` only stands in where no other tests were found: it mostly wraps them. A file that cannot be read counts
    as not there.
    """
    tests = tuple(command for program, command in _tests(root) if _installed(program))
    if not tests and _has_test_target(root) and _installed("make"):
        tests = ("make test",)
    return (*(command for program, command in _static(root) if _installed(program)), *tests)


def _static(root: Path) -> Iterator[tuple[str, str]]:
    if any((root / name).is_file() for name in ("ruff.toml", ".ruff.toml")) or "ruff" in _tools(root):
        yield "ruff", "ruff check ."
    mypy = _mypy_settings(root)
    if mypy is not None:
        yield "mypy", "mypy" if any(mypy.get(key) for key in MYPY_TARGETS) else "mypy ."


def _tests(root: Path) -> Iterator[tuple[str, str]]:
    if _has_python_tests(root):
        yield "pytest", "python -m pytest -q"
    if _has_npm_test(root):
        yield "npm", "npm test"
    if (root / "Cargo.toml").is_file():
        yield "cargo", "cargo test"
    if (root / "go.mod").is_file():
        yield "go", "go test ./..."


def _installed(program: str) -> bool:
    """Whether a check would find `program`: its PATH begins with the folder of this Python."""
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)))
    return shutil.which(program, path=path) is not None


def _has_python_tests(root: Path) -> bool:
    configured = "pytest" in _tools(root) or (root / "pytest.ini").is_file()
    configured = configured or "tool:pytest" in _ini(root / "setup.cfg") or "pytest" in _ini(root / "tox.ini")
    folders = [root / name for name in TEST_FOLDERS]
    return configured or any(root.glob("test_*.py")) or any(any(folder.rglob("test_*.py")) for folder in folders)


def _has_npm_test(root: Path) -> bool:
    try:
        script = json.loads(_text(root / "package.json"))["scripts"]["test"]
    except (ValueError, KeyError, TypeError):
        return False
    return isinstance(script, str) and bool(script.strip()) and NPM_PLACEHOLDER not in script


def _has_test_target(root: Path) -> bool:
    makefile = next(
        (_text(root / name) for name in ("GNUmakefile", "makefile", "Makefile") if (root / name).is_file()), ""
    )
    return re.search(r"^(?:[\w.-]+ +)*test(?: +[\w.-]+)* *::?(?!=)", makefile, re.MULTILINE) is not None


def _mypy_settings(root: Path) -> Mapping[str, Any] | None:
    for settings in (
        *(_ini(root / name) for name in ("mypy.ini", ".mypy.ini")),
        _tools(root),
        _ini(root / "setup.cfg"),
    ):
        if "mypy" in settings:
            found: Mapping[str, Any] = settings["mypy"]
            return found
    return None


def _tools(root: Path) -> Mapping[str, Any]:
    try:
        tools = tomllib.loads(_text(root / "pyproject.toml")).get("tool", {})
    except tomllib.TOMLDecodeError:
        return {}
    return tools if isinstance(tools, dict) else {}


def _ini(path: Path) -> Mapping[str, Any]:
    parser = configparser.ConfigParser(interpolation=None)
    try:
        parser.read_string(_text(path))
    except configparser.Error:
        return {}
    return parser


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
