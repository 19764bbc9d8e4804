"""What the operator asks for in that week, what a scripted model proposes, and what the operator decides."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

PATHLIB = "Uses pathlib instead of os.path"
NAMED_VALUE = "Errors name the bad value"
BUILT_INS = "Prefers built-ins and comprehensions to loops"
CLASSES = "Wraps functions in a class"


@dataclass(frozen=True)
class Errand:
    """One task of the week. `proposals` are the model's replies, attempt by attempt; `hours_ago` says when it began."""

    hours_ago: float
    intent: str
    files: tuple[str, ...]
    proposals: tuple[str, ...]
    decision: Literal["ship", "reject", "none"]
    pattern: str = ""
    reason: str = ""


def replace(path: str, search: str, new: str) -> dict[str, str]:
    return {"op": "replace", "path": path, "search": search, "replace": new}


def write(path: str, text: str) -> dict[str, str]:
    return {"op": "write", "path": path, "text": text}


def proposal(intent: str, *edits: dict[str, str]) -> str:
    return json.dumps({"intent": intent, "checks": [], "edits": list(edits)})


BOOKS, REPORT, PLACES = "shelf/books.py", "shelf/report.py", "shelf/places.py"
OLD_LOAD = (
    "    if not os.path.exists(path):\n"
    "        return []\n"
    "    with open(path) as file:\n"
    "        return json.load(file)\n"
)
OLD_SAVE = '    with open(path, "w") as file:\n        json.dump(books, file)\n'
OLD_MARK = '    for book in books:\n        if book["title"] == title:\n            book["read"] = True\n'
OLD_TOTAL = '    total = 0\n    for book in books:\n        total = total + book["pages"]\n    return total\n'
OLD_UNREAD = (
    "    titles = []\n"
    "    for book in books:\n"
    '        if not book["read"]:\n'
    '            titles.append(book["title"])\n'
    "    return titles\n"
)
OLD_LONGEST = (
    "    best = None\n"
    "    for book in books:\n"
    '        if best is None or book["pages"] > best["pages"]:\n'
    "            best = book\n"
    "    return best\n"
)
NEW_LOAD = "    file = Path(path)\n    return json.loads(file.read_text()) if file.exists() else []\n"

UNKNOWN_TEST = (
    "import pytest\n\nfrom shelf.books import mark_read\n\n\n"
    "def test_an_unknown_title_is_refused():\n"
    '    with pytest.raises(ValueError, match="Emma"):\n'
    '        mark_read([], "Emma")\n'
)

WEEK: Sequence[Errand] = (
    Errand(
        150,
        "Load the list with pathlib",
        (BOOKS,),
        (
            proposal(
                "Load the list with pathlib",
                replace(BOOKS, "import os\n", "from pathlib import Path\n"),
                replace(BOOKS, OLD_LOAD, "    return json.loads(Path(path).read_text())\n"),
            ),
            proposal(
                "Load the list with pathlib",
                replace(BOOKS, "import os\n", "from pathlib import Path\n"),
                replace(BOOKS, OLD_LOAD, NEW_LOAD),
            ),
        ),
        "ship",
        PATHLIB,
    ),
    Errand(
        147,
        "Save the list with pathlib",
        (BOOKS,),
        (
            proposal(
                "Save the list with pathlib", replace(BOOKS, OLD_SAVE, "    Path(path).write_text(json.dumps(books))\n")
            ),
        ),
        "ship",
        PATHLIB,
    ),
    Errand(
        126,
        "Make the report a class",
        (REPORT,),
        (
            proposal(
                "Make the report a class",
                write(
                    "shelf/summary.py", "class Summary:\n    def __init__(self, books):\n        self.books = books\n"
                ),
            ),
        ),
        "reject",
        CLASSES,
        "a function is enough here",
    ),
    Errand(
        123,
        "Sum the pages without a loop",
        (REPORT,),
        (
            proposal(
                "Sum the pages without a loop",
                replace(REPORT, OLD_TOTAL, '    return sum(book["pages"] for book in books)\n'),
            ),
        ),
        "ship",
        BUILT_INS,
    ),
    Errand(
        101,
        "Refuse a book without pages",
        (BOOKS,),
        (
            proposal(
                "Refuse a book without pages",
                replace(
                    BOOKS,
                    "def add(books, title, pages):\n",
                    "def add(books, title, pages):\n"
                    "    if pages < 1:\n"
                    '        raise ValueError(f"pages must be at least 1, got {pages}")\n',
                ),
                write(
                    "tests/test_pages.py",
                    "import pytest\n\nfrom shelf.books import add\n\n\n"
                    "def test_no_pages_are_refused():\n"
                    '    with pytest.raises(ValueError, match="got 0"):\n'
                    '        add([], "Dune", 0)\n',
                ),
            ),
        ),
        "ship",
        NAMED_VALUE,
    ),
    Errand(
        78,
        "Name the export with pathlib",
        (PLACES,),
        (
            proposal(
                "Name the export with pathlib",
                replace(PLACES, "import os\n", "import os\nfrom pathlib import Path\n"),
                replace(PLACES, 'os.path.join(folder, name + ".csv")', 'Path(folder) / f"{name}.csv"'),
            ),
            proposal(
                "Name the export with pathlib",
                replace(PLACES, "import os\n", "import os\nfrom pathlib import Path\n"),
                replace(PLACES, 'os.path.join(folder, name + ".csv")', 'str(Path(folder) / f"{name}.csv")'),
            ),
        ),
        "ship",
        PATHLIB,
    ),
    Errand(
        75,
        "Refuse an empty title",
        (BOOKS,),
        (
            proposal(
                "Refuse an empty title",
                replace(
                    BOOKS,
                    "    if pages < 1:\n",
                    "    if not title.strip():\n"
                    '        raise ValueError(f"title must not be empty, got {title!r}")\n'
                    "    if pages < 1:\n",
                ),
            ),
        ),
        "ship",
        NAMED_VALUE,
    ),
    Errand(
        53,
        "Cache the loaded list",
        (BOOKS,),
        (
            proposal("Cache the loaded list", replace(BOOKS, "def load(path):\n", "@cache\ndef load(path):\n")),
            proposal("Cache the loaded list", replace(BOOKS, "def load(path):\n", "@lru_cache\ndef load(path):\n")),
            proposal("Cache the loaded list", write(BOOKS, "from functools import cache\n")),
        ),
        "none",
    ),
    Errand(
        50,
        "List unread titles without a loop",
        (REPORT,),
        (
            proposal(
                "List unread titles without a loop",
                replace(REPORT, OLD_UNREAD, '    return [book["title"] for book in books if not book["read"]]\n'),
            ),
        ),
        "ship",
        BUILT_INS,
    ),
    Errand(
        29,
        "Wrap the places in a class",
        (PLACES,),
        (
            proposal(
                "Wrap the places in a class",
                write("shelf/folders.py", "class Folders:\n    def __init__(self, home):\n        self.home = home\n"),
            ),
        ),
        "reject",
        CLASSES,
        "two functions need no class",
    ),
    Errand(
        27,
        "Refuse an unknown title",
        (BOOKS,),
        (
            proposal(
                "Refuse an unknown title",
                replace(
                    BOOKS,
                    OLD_MARK,
                    '    found = {book["title"]: book for book in books}\n    found[title]["read"] = True\n',
                ),
                write("tests/test_unknown.py", UNKNOWN_TEST),
            ),
            proposal(
                "Refuse an unknown title",
                replace(
                    BOOKS,
                    OLD_MARK,
                    '    found = [book for book in books if book["title"] == title]\n'
                    "    if not found:\n"
                    '        raise ValueError(f"no book is called {title!r}")\n'
                    '    found[0]["read"] = True\n',
                ),
                write("tests/test_unknown.py", UNKNOWN_TEST),
            ),
        ),
        "ship",
        NAMED_VALUE,
    ),
    Errand(
        6,
        "Find the longest book without a loop",
        (REPORT,),
        (
            proposal(
                "Find the longest book without a loop",
                replace(REPORT, OLD_LONGEST, '    return max(books, key=lambda book: book["pages"], default=None)\n'),
            ),
        ),
        "ship",
        BUILT_INS,
    ),
    Errand(
        4,
        "Find the list file with pathlib",
        (PLACES,),
        (
            proposal(
                "Find the list file with pathlib",
                replace(PLACES, "import os\n", ""),
                replace(
                    PLACES, 'os.path.join(home, ".shelf", "books.json")', 'str(Path(home) / ".shelf" / "books.json")'
                ),
            ),
        ),
        "ship",
        PATHLIB,
    ),
)

CHATS: Sequence[tuple[float, str]] = (
    (149, "What does json.dumps return?"),
    (100, "When should a function raise ValueError?"),
    (5, "How do I join two paths with pathlib?"),
)
