from __future__ import annotations

import difflib
import json
from pathlib import Path

import nbformat
import pytest

from cipher_nb.errors import ProposalError
from cipher_nb.sandbox.proposal.changes import apply_edits
from cipher_nb.sandbox.proposal.edits import Cell, Proposal
from cipher_nb.sandbox.proposal.notebook import with_cell

OUTPUT = {"output_type": "stream", "name": "stdout", "text": ["1\n"]}


def notebook(*, minor=5, **cell):
    code = {"cell_type": "code", "execution_count": 7, "id": "c0de", "metadata": {}, "outputs": [OUTPUT], "source": []}
    cells = [
        {"cell_type": "markdown", "id": "text", "metadata": {}, "source": ["# T\u00eftle\n", "words"]},
        {**code, "source": ["x = 1\n", "print(x)"], **cell},
        {**code, "id": "last", "source": "y = 2.50"},
    ]
    return {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": minor}


def dumped(value, **style):
    return json.dumps(value, **{"indent": 1, "ensure_ascii": False, **style}).encode() + b"\n"


def test_a_changed_code_cell_loses_outputs_and_count_and_the_rest_stays(tmp_path):
    path = tmp_path / "n.ipynb"
    path.write_bytes(dumped(notebook()))
    apply_edits(tmp_path, Proposal("", (Cell("n.ipynb", "c0de", "x = 2\nprint(x)\n"),)))
    expected = notebook(source=["x = 2\n", "print(x)\n"], outputs=[], execution_count=None)
    assert path.read_bytes() == dumped(expected)
    nbformat.validate(nbformat.read(path, as_version=nbformat.NO_CONVERT))


def test_other_kinds_of_cells_change_only_their_source():
    after = json.loads(with_cell("n.ipynb", dumped(notebook()), cell="text", source="one line"))
    assert after["cells"][0] == {"cell_type": "markdown", "id": "text", "metadata": {}, "source": ["one line"]}
    assert after["cells"][1:] == notebook()["cells"][1:]


def test_a_source_that_is_one_text_stays_one():
    after = json.loads(with_cell("n.ipynb", dumped(notebook()), cell="last", source="y = 3\nz"))
    assert after["cells"][2]["source"] == "y = 3\nz"


def test_the_same_source_changes_nothing():
    data = dumped(notebook())
    assert with_cell("n.ipynb", data, cell="c0de", source="x = 1\nprint(x)") == data


@pytest.mark.parametrize(
    "style",
    [
        {"indent": 1},
        {"indent": 2},
        {"indent": 4},
        {"indent": "\t"},
        {"indent": 2, "ensure_ascii": True},
        {"indent": None},
        {"indent": None, "separators": (",", ":")},
    ],
    ids=str,
)
@pytest.mark.parametrize("end", ["", "\n", "\n\n"])
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_the_diff_is_as_small_as_the_change(style, end, line_end):
    def written(value):
        return (dumped(value, **style).decode().rstrip() + end).replace("\n", line_end).encode()

    after = with_cell("n.ipynb", written(notebook()), cell="c0de", source="x = 3\nprint(x)")
    assert after == written(notebook(source=["x = 3\n", "print(x)"], outputs=[], execution_count=None))


def test_a_notebook_of_this_project_changes_in_the_lines_of_its_cell():
    data = (Path(__file__).parents[2] / "notebooks/explore_bus.ipynb").read_bytes()
    cell = next(cell for cell in json.loads(data)["cells"] if cell["cell_type"] == "markdown")
    after = with_cell("n.ipynb", data, cell=cell["id"], source="".join(cell["source"]) + " And more.")
    lines = [list(text.decode().splitlines()) for text in (data, after)]
    changed = [line for line in difflib.unified_diff(*lines, n=0) if not line.startswith(("---", "+++", "@@"))]
    assert len(changed) == 2


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (dumped(notebook()), "n.ipynb has no cell 'code'; the nearest ids are 'c0de' ('x = 1'), "),
        (dumped(notebook(minor=4)), "n.ipynb is not a valid notebook (Additional properties are not allowed"),
        (dumped({"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}), "the cells of n.ipynb have no ids"),
        (dumped(notebook(id="code")).replace(b'"last"', b'"code"'), "2 cells of n.ipynb have the id 'code'; save it"),
        (dumped(notebook(metadata=[])), "n.ipynb is not a valid notebook ([] is not of type 'object')"),
        (b"{", "n.ipynb is not JSON (Expecting property name"),
        (b"[]", "n.ipynb is not a notebook; it does not say its nbformat"),
        (b'{"nbformat": "x"}', "n.ipynb is not a notebook"),
    ],
)
def test_what_cannot_be_changed_is_said(data, words):
    with pytest.raises(ProposalError) as caught:
        with_cell("n.ipynb", data, cell="code", source="x")
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_notebook_from_before_cell_ids_says_how_to_get_them():
    old = notebook(minor=4)
    for cell in old["cells"]:
        del cell["id"]
    with pytest.raises(ProposalError, match=r"the cells of n\.ipynb have no ids \(nbformat 4\.4\); save it once"):
        with_cell("n.ipynb", dumped(old), cell="c0de", source="x")
