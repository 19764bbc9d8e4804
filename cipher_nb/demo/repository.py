"""The sample repository: a reading list in a few small modules, with tests."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from cipher_nb.errors import ConfigError
from cipher_nb.sandbox.git import git_output

FILES: Mapping[str, str] = {
    "shelf/__init__.py": '"""A reading list."""\n',
    "shelf/books.py": '''"""A reading list in a JSON file."""

import json
import os


def load(path):
    if not os.path.exists(path):
        return []
    with open(path) as file:
        return json.load(file)


def save(path, books):
    with open(path, "w") as file:
        json.dump(books, file)


def add(books, title, pages):
    return [*books, {"title": title, "pages": pages, "read": False}]


def mark_read(books, title):
    for book in books:
        if book["title"] == title:
            book["read"] = True
''',
    "shelf/report.py": '''"""Numbers about a reading list."""


def total_pages(books):
    total = 0
    for book in books:
        total = total + book["pages"]
    return total


def unread(books):
    titles = []
    for book in books:
        if not book["read"]:
            titles.append(book["title"])
    return titles


def longest(books):
    best = None
    for book in books:
        if best is None or book["pages"] > best["pages"]:
            best = book
    return best
''',
    "shelf/places.py": '''"""Where the reading list and its exports lie."""

import os


def export_name(folder, name):
    return os.path.join(folder, name + ".csv")


def list_file(home):
    return os.path.join(home, ".shelf", "books.json")
''',
    "tests/test_books.py": """from shelf.books import add, load, mark_read, save


def test_a_missing_file_is_an_empty_list(tmp_path):
    assert load(str(tmp_path / "none.json")) == []


def test_a_saved_list_is_loaded_again(tmp_path):
    path = str(tmp_path / "books.json")
    save(path, add([], "Dune", 412))
    assert load(path) == [{"title": "Dune", "pages": 412, "read": False}]


def test_a_book_is_marked_as_read():
    books = add([], "Dune", 412)
    mark_read(books, "Dune")
    assert books[0]["read"] is True
""",
    "tests/test_report.py": """from shelf.report import longest, total_pages, unread

BOOKS = [
    {"title": "Dune", "pages": 412, "read": True},
    {"title": "Emma", "pages": 474, "read": False},
]


def test_pages_are_summed():
    assert total_pages(BOOKS) == 886


def test_unread_titles_are_listed():
    assert unread(BOOKS) == ["Emma"]


def test_the_longest_book_is_found():
    assert longest(BOOKS)["title"] == "Emma"
""",
    "tests/test_places.py": """from shelf.places import export_name, list_file


def test_an_export_is_a_csv_in_its_folder():
    assert export_name("out", "books") == "out/books.csv"


def test_the_list_lies_in_a_hidden_folder():
    assert list_file("/home/ada") == "/home/ada/.shelf/books.json"
""",
    "pytest.ini": "[pytest]\npythonpath = .\naddopts = -p no:nbval -p no:hypothesispytest -p no:cacheprovider\n",
    ".gitignore": "__pycache__/\n.pytest_cache/\n",
}


def make_repository(folder: Path, *, when: datetime) -> None:
    """Make the sample repository in `folder`, with one commit dated `when`.

    Raises ConfigError when the folder holds something already, SandboxError without git.
    """
    if folder.exists() and any(folder.iterdir()):
        raise ConfigError(
            f"{folder} is not empty; choose another folder, or run another night there: "
            f"cipher-nb night --workspace {folder}"
        )
    git_output(Path.cwd(), "--version")  # without git nothing is to be written
    for name, text in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    for arguments in (
        ("init", "--quiet", "--initial-branch=main"),
        ("config", "user.name", "Ada Operator"),
        ("config", "user.email", "ada@example.org"),
        ("add", "--all"),
        ("commit", "--quiet", "--no-verify", "--message", "A reading list", "--date", when.isoformat()),
    ):
        git_output(folder, *arguments)
