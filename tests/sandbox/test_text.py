from __future__ import annotations

import time

import pytest

from cipher_nb.errors import ProposalError
from cipher_nb.sandbox.proposal.changes import apply_edits
from cipher_nb.sandbox.proposal.edits import Patch, Proposal, Replace, Write
from cipher_nb.sandbox.proposal.nearest import nearest


def after(folder, before, edit):
    """What `edit` makes of a file "f" with the bytes `before`."""
    (folder / "f").write_bytes(before)
    apply_edits(folder, Proposal("", (edit,)))
    return (folder / "f").read_bytes()


def replaced(folder, before, search, replacement):
    return after(folder, before, Replace("f", search, replacement))


@pytest.mark.parametrize(
    ("before", "search", "replacement", "expected"),
    [
        (b"one\r\ntwo\r\n", "one\ntwo\n", "1\n2\n", b"1\r\n2\r\n"),
        (b"one\r\ntwo\r\n", "one\r\ntwo", "1\r\n2", b"1\r\n2\r\n"),
        (b"one\r\ntwo\r\n", "one", "1\n1b", b"1\r\n1b\r\ntwo\r\n"),
        (b"one\r\r\ntwo\r\n", "two", "2", b"one\r\r\n2\r\n"),
        (b"one\r\ntwo\nthree\n", "two\n", "2\n", b"one\r\n2\nthree\n"),
        (b"one\r\ntwo\nthree\n", "one\r\n", "1\n", b"1\ntwo\nthree\n"),
        (b"\xef\xbb\xbfone\ntwo\n", "one\n", "1\n", b"\xef\xbb\xbf1\ntwo\n"),
        (b"one\ntwo", "two\n", "2\n", b"one\n2"),
        (b"one\ntwo", "one\ntwo", "1\n2", b"1\n2"),
        (b"one\ntwo", "two\n", "", b"one"),
        (b"caf\xe9 = 1\nx = 2\n", "x = 2", "x = 3", b"caf\xe9 = 1\nx = 3\n"),
        (b"caf\xe9\r\nx = 2\r\n", "x = 2\n", "x = 3\ny\n", b"caf\xe9\r\nx = 3\r\ny\r\n"),
        ("a\u2028b\x0cc\n".encode(), "b", "B", "a\u2028B\x0cc\n".encode()),
    ],
)
def test_a_replacement_keeps_line_ends_mark_encoding_and_the_last_line(tmp_path, before, search, replacement, expected):
    assert replaced(tmp_path, before, search, replacement) == expected


@pytest.mark.parametrize(
    ("before", "text", "expected"),
    [
        (b"a\r\nb\r\n", "x\ny\n", b"x\r\ny\r\n"),
        (b"a\r\nb\n", "x\ny\n", b"x\ny\n"),
        (b"\xef\xbb\xbfa\r\n", "x\n", b"\xef\xbb\xbfx\r\n"),
        (b"\xef\xbb\xbfa\n", "\ufeffx\n", b"\xef\xbb\xbfx\n"),
        (b"caf\xe9\n", "caf\u00e9\n", b"caf\xc3\xa9\n"),
        (b"\x00\r\n", "x\n", b"x\n"),
        (b"", "x", b"x"),
    ],
)
def test_a_whole_file_keeps_line_ends_and_mark_of_the_one_it_replaces(tmp_path, before, text, expected):
    assert after(tmp_path, before, Write("f", text)) == expected


def test_a_crlf_file_is_patched_by_a_diff_without_carriage_returns(tmp_path):
    diff = "@@ -1,2 +1,2 @@\n one\n-two\n+2\n"
    assert after(tmp_path, b"\xef\xbb\xbfone\r\ntwo\r\n", Patch("f", diff)) == b"\xef\xbb\xbfone\r\n2\r\n"


@pytest.mark.parametrize(("search", "replacement"), [("caf\u00e9", "x"), ("x", "\u00e9")])
def test_only_ascii_is_found_or_put_where_the_encoding_is_in_doubt(tmp_path, search, replacement):
    with pytest.raises(ProposalError, match="f is not UTF-8 text, so only ASCII can be found or put there"):
        replaced(tmp_path, b"caf\xe9 x\n", search, replacement)


def test_a_binary_file_is_not_edited(tmp_path):
    with pytest.raises(ProposalError, match="f is a binary file; it can be deleted, renamed or written anew"):
        replaced(tmp_path, b"a\x00b", "a", "c")


def refusal(folder, before, search):
    with pytest.raises(ProposalError) as caught:
        replaced(folder, before, search, "new")
    return str(caught.value)


def test_a_near_miss_is_told_with_its_lines_and_not_guessed(tmp_path):
    before = b"import os\n\n\ndef add(a, b):\n    return a - b\n\n\ndef sub(a, b):\n    return 0\n"
    assert refusal(tmp_path, before, "def add(a, b):\n  return a - b\n") == (
        "f: search was found 0 times; copy it exactly as the file has it (nearest is lines 4-5, where line 5 is "
        "'    return a - b', not '  return a - b'), or send op 'write' with the whole file"
    )
    assert (tmp_path / "f").read_bytes() == before


@pytest.mark.parametrize(
    ("wanted", "line"),
    [("a * b", 2), ("return a+b", 2), ("def ad(a, b)", 1), ("while True:", None), ("zzz", None)],
)
def test_a_misquoted_piece_of_a_line_is_found_in_its_line(wanted, line):
    near = nearest("def add(a, b):\n    return a - b\n", wanted)
    assert (near and near.first) == line


def test_where_nothing_is_near_that_is_said(tmp_path):
    assert "(nothing in the file is like it)" in refusal(tmp_path, b"abc\n", "class Quite(Other):")


def test_several_places_are_told_by_their_lines(tmp_path):
    assert "found 2 times; add the lines around it until it is found once (it is at lines 1, 3), or" in (
        refusal(tmp_path, b"x = 1\ny = 2\nx = 1\n", "x = 1")
    )
    assert "(it is at lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, …)" in refusal(tmp_path, b"x\n" * 40, "x")


def test_a_long_line_is_cut_in_the_report(tmp_path):
    assert len(refusal(tmp_path, b"word " * 2000, "word " * 2000 + "more")) < 500


@pytest.mark.parametrize(
    ("body", "lines"),
    [
        ("".join(f"value_{n} = compute({n})\n" for n in range(300_000)), (778, 779)),
        ("a" * 5_000_000, None),
        ("{}\n" * 500_000, None),
    ],
    ids=["lines", "one-line", "blanks"],
)
def test_the_nearest_place_in_a_big_file_is_found_in_bounded_time(body, lines):
    started = time.monotonic()
    near = nearest(body, "value_777  = compute(777)\nvalue_778 = compute(778)")
    assert time.monotonic() - started < 5
    assert (near and (near.first, near.last)) == lines
