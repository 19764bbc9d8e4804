from __future__ import annotations

import json

import pytest

from cipher_nb.errors import ProposalError
from cipher_nb.sandbox.proposal.changes import apply_edits
from cipher_nb.sandbox.proposal.edits import Replace, Write, parse_proposal

ONE = "<<<<<<< SEARCH\nold\n=======\nnew\n>>>>>>> REPLACE\n"


def edits(text):
    return parse_proposal(text).edits


@pytest.mark.parametrize(
    "before",
    [
        "calc.py\n",
        "I change this:\n\n  calc.py  \n",
        "### `calc.py`\n```python\n",
        "**calc.py**:\n```\n",
        "File: calc.py\n\n~~~python\n",
        "filename: ./calc.py\n",
    ],
)
def test_the_path_stands_on_the_line_before_whatever_dresses_it(before):
    assert edits(f"{before}{ONE}```\nThat is all.") == (Replace("calc.py", "old\n", "new\n"),)


def test_blocks_come_in_order_and_one_without_a_path_is_for_the_file_before():
    text = f"a.py\n{ONE}\n{ONE}\nNow the other.\n\nsub/b.py\n{ONE}"
    assert [edit.path for edit in edits(text)] == ["a.py", "a.py", "sub/b.py"]


def test_indentation_blank_lines_and_line_counts_of_the_marks_are_kept_or_ignored():
    text = "a.py\n<<<<< SEARCH\n    if x:\n\n        y\n=======\n>>>>> REPLACE"
    assert edits(text) == (Replace("a.py", "    if x:\n\n        y\n", ""),)


def test_an_empty_search_makes_a_new_file_and_overwrites_none(tmp_path):
    proposal = parse_proposal("new.py\n<<<<<<< SEARCH\n=======\nx = 1\n>>>>>>> REPLACE")
    apply_edits(tmp_path, proposal)
    assert (tmp_path / "new.py").read_text() == "x = 1\n"
    with pytest.raises(ProposalError, match=r"new\.py: search is empty and the file is not"):
        apply_edits(tmp_path, proposal)


def test_a_block_changes_a_last_line_without_a_newline(tmp_path):
    (tmp_path / "a.py").write_text("one\nold")
    apply_edits(tmp_path, parse_proposal(f"a.py\n{ONE}"))
    assert (tmp_path / "a.py").read_text() == "one\nnew"


def test_json_whose_texts_hold_such_marks_is_json():
    body = json.dumps({"edits": [{"op": "write", "path": "a.md", "text": f"a.py\n{ONE}"}]}, indent=1)
    assert edits(f"```json\n{body}\n```") == (Write("a.md", f"a.py\n{ONE}"),)


def test_code_with_braces_in_a_block_is_not_taken_for_json():
    text = 'a.py\n<<<<<<< SEARCH\nx = {"a": 1}\n=======\nx = {"a": 2}\n>>>>>>> REPLACE\n'
    assert edits(text) == (Replace("a.py", 'x = {"a": 1}\n', 'x = {"a": 2}\n'),)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (ONE, "block 1 (line 1) has no path; put the file's path on the line before it"),
        ("a.py\n<<<<<<< SEARCH\nold\n=======\nnew\n", "block 1 (line 2) has no end; close it with >>>>>>> REPLACE"),
        (f"a.py\n<<<<<<< SEARCH\nold\n=======\n{ONE}", "block 1 (line 2) has no end"),
        ("a.py\n<<<<<<< SEARCH\nold\n>>>>>>> REPLACE", "block 1 (line 2) has 0 lines of =======; it takes one"),
        (
            "a.rst\n<<<<<<< SEARCH\nChapter\n=======\n=======\nTitle 1\n=======\n>>>>>>> REPLACE",
            "block 1 (line 2) has 3 lines of =======; it takes one",
        ),
        (f"n.ipynb\n{ONE}", "n.ipynb is a notebook and raw writes to it are refused"),
    ],
)
def test_a_block_that_is_none_is_refused_by_its_number(text, words):
    with pytest.raises(ProposalError) as caught:
        parse_proposal(text)
    assert words in str(caught.value)
