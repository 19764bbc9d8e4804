from __future__ import annotations

import json
from pathlib import Path

import pytest

from cipher_nb.sandbox.checks.found import find_checks


@pytest.fixture(autouse=True)
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the only programs there are, besides those of this Python."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("npm", "cargo", "go", "make"):
        (folder / name).write_text("#!/bin/sh\n")
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))
    return folder


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


def put(root: Path, **files: str) -> None:
    for name, text in files.items():
        path = root / name.replace("__", "/").replace("_dot_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def test_nothing_is_found_where_nothing_is_set_up(root):
    put(root, src__app_dot_py="x = 1", README_dot_md="# App", pyproject_dot_toml="[project]\nname = 'app'")
    assert find_checks(root) == ()


@pytest.mark.parametrize("name", ["test_a.py", "tests/test_a.py", "tests/unit/test_a.py", "test/test_a.py"])
def test_python_tests_are_found_where_they_usually_lie(root, name):
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).write_text("")
    assert find_checks(root) == ("python -m pytest -q",)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pyproject.toml", "[tool.pytest.ini_options]\n"),
        ("pytest.ini", "[pytest]\n"),
        ("setup.cfg", "[tool:pytest]\n"),
        ("tox.ini", "[pytest]\n"),
    ],
)
def test_pytest_is_found_by_its_settings(root, name, text):
    (root / name).write_text(text)
    assert find_checks(root) == ("python -m pytest -q",)


def test_a_python_project_with_all_its_tools_is_checked_cheapest_first(root):
    put(root, pyproject_dot_toml="[tool.mypy]\nstrict = true\n[tool.ruff]\n", tests__test_a_dot_py="")
    assert find_checks(root) == ("ruff check .", "mypy .", "python -m pytest -q")


@pytest.mark.parametrize(
    ("name", "text", "command"),
    [
        ("pyproject.toml", "[tool.mypy]\npackages = ['app']\n", "mypy"),
        ("mypy.ini", "[mypy]\nfiles = app\n", "mypy"),
        ("setup.cfg", "[mypy]\nstrict = True\n", "mypy ."),
        (".ruff.toml", "", "ruff check ."),
    ],
)
def test_mypy_and_ruff_are_asked_as_they_are_set_up(root, name, text, command):
    (root / name).write_text(text)
    assert find_checks(root) == (command,)


def test_other_languages_are_found_by_their_project_files(root):
    put(root, Cargo_dot_toml="", go_dot_mod="", package_dot_json=json.dumps({"scripts": {"test": "jest"}}))
    assert find_checks(root) == ("npm test", "cargo test", "go test ./...")


@pytest.mark.parametrize(
    "package",
    [
        '{"scripts": {"test": "echo \\"Error: no test specified\\" && exit 1"}}',
        '{"scripts": {"build": "tsc"}}',
        '{"scripts": {"test": " "}}',
        '{"scripts": null}',
        "[]",
        "{",
    ],
)
def test_a_package_without_tests_of_its_own_has_no_npm_test(root, package):
    (root / "package.json").write_text(package)
    assert find_checks(root) == ()


@pytest.mark.parametrize("makefile", ["test:\n\tpytest\n", "all: x\n\nlint test: x\n\tpytest\n", "test :: x\n"])
def test_a_test_target_of_make_stands_in_where_no_other_tests_are(root, makefile):
    (root / "Makefile").write_text(makefile)
    assert find_checks(root) == ("make test",)
    (root / "go.mod").write_text("")
    assert find_checks(root) == ("go test ./...",)


@pytest.mark.parametrize("makefile", ["test := yes\n", "tests:\n", "#test:\n", ".PHONY: test\n", "\ttest:\n"])
def test_a_makefile_without_a_test_target_has_none(root, makefile):
    (root / "Makefile").write_text(makefile)
    assert find_checks(root) == ()


def test_what_is_not_installed_is_not_asked(root, installed):
    put(root, Cargo_dot_toml="", Makefile="test:\n")
    (installed / "cargo").unlink()
    assert find_checks(root) == ("make test",)
    (installed / "make").unlink()
    assert find_checks(root) == ()


def test_settings_that_cannot_be_read_count_as_not_there(root):
    put(root, pyproject_dot_toml="[tool.ruff", setup_dot_cfg="mypy]", tests__test_a_dot_py="")
    (root / "pytest.ini").mkdir()
    (root / "mypy.ini").write_bytes(b"\xff\xfe[mypy]")
    assert find_checks(root) == ("python -m pytest -q",)
