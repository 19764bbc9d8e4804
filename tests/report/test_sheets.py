"""Sample sheets: a few samples of every family, to look at."""

import json
import subprocess
import sys

import pytest

from cipher_nb.battery.families import FAMILIES
from cipher_nb.battery.samples import Sample
from cipher_nb.errors import NotFoundError
from cipher_nb.report.sheets import Sheet, sheets

SAMPLE = Sample(
    id="c-1",
    category="code",
    family="add",
    side="sealed",
    messages=(
        {"role": "system", "content": "Write Python."},
        {"role": "user", "content": "One?"},
        {"role": "assistant", "content": "1"},
        {"role": "user", "content": "Add two\nnumbers.\x1b[31m"},
    ),
    target="assert add(1, 2) == 3",
    scorer="code",
    reference="def add(a, b):\n    return a + b",
)


def test_every_family_of_every_category_has_a_sheet():
    assert [(sheet.category, sheet.family) for sheet in sheets(per_family=1)] == [
        (name, family.name) for name, families in FAMILIES.items() for family in families
    ]


def test_the_sides_do_not_show_the_same_questions():
    sealed, practice = (sheets("settings", side=side) for side in ("sealed", "practice"))
    assert [len(sheet.samples) for sheet in sealed] == [3] * len(FAMILIES["settings"])
    asked = [{sample.user_text for sheet in side for sample in sheet.samples} for side in (sealed, practice)]
    assert asked[0].isdisjoint(asked[1])


def test_a_sheet_is_laid_out_for_a_terminal():
    assert Sheet("code", "add", (SAMPLE,)).text() == (
        "code / add (code, 1 example before each question)\n"
        "  system    Write Python.\n"
        "\n"
        "  question  Add two\n"
        "            numbers.\\x1b[31m\n"
        "  right     def add(a, b):\n"
        "                return a + b\n"
        "  scored by assert add(1, 2) == 3"
    )


def test_an_unknown_category_gets_a_suggestion():
    with pytest.raises(NotFoundError, match=r"category .setings. does not exist; did you mean settings\?"):
        sheets("setings")


@pytest.mark.slow
def test_the_command_needs_no_workspace(tmp_path):
    def show(*arguments):
        command = [sys.executable, "-m", "cipher_nb.cli", "battery", "show", *arguments]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    told = json.loads(show("settings", "--per-family", "1", "--side", "practice", "--json").stdout)
    assert [row["family"] for row in told] == [family.name for family in FAMILIES["settings"]]
    assert set(told[0]) == {"category", "family", "scorer", "system", "examples", "samples"}
    assert set(told[0]["samples"][0]) == {"id", "question", "target", "reference", "choices"}
    unknown = show("setings")
    assert (unknown.returncode, unknown.stdout) == (2, "")
