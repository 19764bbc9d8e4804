from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from cipher_nb.errors import ProposalError, UnsafePathError
from cipher_nb.sandbox.proposal.changes import apply_edits
from cipher_nb.sandbox.proposal.edits import PROPOSAL_SCHEMA, Delete, Rename, Replace, Write, parse_proposal


def proposal_text(*edits: object, **more: object) -> str:
    return json.dumps({"intent": "test", "edits": list(edits), **more})


def edit(root: Path, *edits: object) -> None:
    apply_edits(root, parse_proposal(proposal_text(*edits)))


def test_every_op_is_read_in_order():
    text = proposal_text(
        {"op": "write", "path": "a.py", "text": "x"},
        {"op": "replace", "path": "./b.py", "search": "1", "replace": "2"},
        {"op": "delete", "path": "c.py"},
        {"op": "rename", "path": "d.py", "to": "e.py"},
        checks=["python -m pytest -q"],
    )
    proposal = parse_proposal(text)
    assert proposal.edits == (Write("a.py", "x"), Replace("b.py", "1", "2"), Delete("c.py"), Rename("d.py", "e.py"))
    assert proposal.checks == ("python -m pytest -q",)
    assert proposal.touched() == ("a.py", "b.py", "c.py", "d.py", "e.py")


def test_a_proposal_survives_its_own_json():
    proposal = parse_proposal(proposal_text({"op": "rename", "path": "d.py", "to": "e.py"}))
    assert parse_proposal(json.dumps(proposal.to_json())) == proposal


def test_json_in_a_fence_is_found_although_its_text_holds_a_fence():
    body = proposal_text({"op": "write", "path": "README.md", "text": "```sh\nls {a}\n```\n"})
    reply = f"Here you are {{as asked}}:\n```json\n{body}\n```\nDone."
    assert parse_proposal(reply).edits == (Write("README.md", "```sh\nls {a}\n```\n"),)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("I cannot do that.", "no JSON in 'I cannot do that.'"),
        ('{"intent": "x", "edits": [{"op": "wri', "it ends early, send smaller edits"),
        ('{"edits": [}', "near '}'"),
        ("[" * 5000, "no JSON"),
        ('{"edits":' * 50_000, "nested too deep"),
        ("{}", "edits is missing"),
        ('{"edits": []}', "edits is []"),
        ('{"edits": ["a.py"]}', "edits[0] is 'a.py'"),
        ('{"edits": [{"op": "copy", "path": "a"}]}', "edits[0].op 'copy' is unknown; use one of write, replace"),
        ('{"edits": [{"op": "cell", "path": "n.ipynb"}]}', "edits[0].cell is missing"),
        (
            '{"edits": [{"op": "cell", "path": "a.py", "cell": "1", "source": ""}]}',
            "a.py is no notebook; send op 'replace'",
        ),
        ('{"edits": [{"op": "mode", "path": "a", "mode": "777"}]}', "edits[0].mode is '777'; send one of 755, 644"),
        (
            '{"edits": [{"op": "patch", "path": "n.ipynb", "diff": ""}]}',
            "n.ipynb is a notebook and raw writes to it are",
        ),
        ('{"edits": [{"op": "replace", "path": "N.IPYNB", "search": "a", "replace": ""}]}', "send op 'cell'"),
        (
            '{"edits": [{"op": "rename", "path": "a.txt", "to": "n.ipynb"}]}',
            "a.txt is no notebook and cannot become n.ipynb",
        ),
        ('{"edits": [{"op": ["write"]}]}', "edits[0].op ['write'] is unknown"),
        ('{"edits": [{"op": "write", "path": "a.py"}]}', "edits[0].text is missing; send a text there"),
        ('{"edits": [{"op": "write", "path": "a.py", "text": 3}]}', "edits[0].text is 3; send a text there"),
        ('{"edits": [{"op": "delete", "path": "a.py", "force": 1}]}', "key 'force' is unknown; it takes op, path"),
        ('{"edits": [{"op": "delete", "path": "a"}], "checks": "ls"}', "checks is 'ls'; send a list of commands"),
        ('{"edits": [{"op": "write", "path": "a", "text": "\\ud800"}]}', "edits[0].text holds half a character"),
        ('{"edits": [{"op": "delete", "path": "a"}], "checks": ["ls \\u0000"]}', "checks[0] holds a NUL character"),
        ('{"edits": [{"op": "write", "path": "n.ipynb", "text": ""}]}', "n.ipynb is a notebook"),
    ],
)
def test_what_is_no_proposal_is_refused_by_place_and_value(text, words):
    with pytest.raises(ProposalError) as caught:
        parse_proposal(text)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_schema_names_every_op_and_allows_nothing_else():
    kinds = PROPOSAL_SCHEMA["properties"]["edits"]["items"]["anyOf"]
    assert [kind["properties"]["op"]["const"] for kind in kinds] == [
        "write",
        "replace",
        "delete",
        "rename",
        "cell",
        "mode",
        "patch",
    ]
    assert all(kind["additionalProperties"] is False for kind in kinds)


def test_edits_build_on_each_other(tmp_path):
    (tmp_path / "a.py").write_text("one\n")
    edit(
        tmp_path,
        {"op": "replace", "path": "a.py", "search": "one", "replace": "two"},
        {"op": "rename", "path": "a.py", "to": "sub/b.py"},
        {"op": "replace", "path": "sub/b.py", "search": "two", "replace": "three"},
    )
    assert (tmp_path / "sub/b.py").read_text() == "three\n"
    assert not (tmp_path / "a.py").exists()


def test_a_file_may_make_room_for_a_folder_of_its_name(tmp_path):
    (tmp_path / "tool").write_text("x")
    edit(tmp_path, {"op": "delete", "path": "tool"}, {"op": "write", "path": "tool/main.py", "text": "y"})
    assert (tmp_path / "tool/main.py").read_text() == "y"


@pytest.mark.parametrize(
    ("content", "search", "words"),
    [
        ("abc", "x", "a.py: search was found 0 times; copy it exactly"),
        ("x = 1\nx = 1\n", "x = 1", "a.py: search was found 2 times; add the lines around it"),
        ("aaa", "aa", "a.py: search was found 2 times"),
        ("ab", "", "a.py: search is empty and the file is not"),
    ],
)
def test_a_search_that_is_not_found_exactly_once_says_how_often(tmp_path, content, search, words):
    (tmp_path / "a.py").write_text(content)
    with pytest.raises(ProposalError) as caught:
        edit(tmp_path, {"op": "replace", "path": "a.py", "search": search, "replace": "y"})
    assert words in str(caught.value)
    assert "send op 'write' with the whole file" in str(caught.value)


def test_a_bad_edit_leaves_the_good_ones_before_it_undone(tmp_path):
    with pytest.raises(ProposalError, match=r"gone\.py does not exist"):
        edit(tmp_path, {"op": "write", "path": "a.py", "text": "x"}, {"op": "delete", "path": "gone.py"})
    assert list(tmp_path.iterdir()) == []


def test_a_rename_does_not_overwrite(tmp_path):
    (tmp_path / "a.py").write_text("a")
    (tmp_path / "b.py").write_text("b")
    with pytest.raises(ProposalError, match=r"b\.py exists already"):
        edit(tmp_path, {"op": "rename", "path": "a.py", "to": "b.py"})


def test_a_path_that_cannot_be_a_file_is_refused(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "a.py").write_text("a")
    with pytest.raises(ProposalError, match="sub is a folder"):
        edit(tmp_path, {"op": "write", "path": "sub", "text": ""})
    with pytest.raises(ProposalError, match=r"x+ cannot be read in .* \(File name too long\); choose another path"):
        edit(tmp_path, {"op": "write", "path": "x" * 300, "text": ""})
    with pytest.raises(ProposalError, match=r"a\.py/b cannot be written"):
        edit(tmp_path, {"op": "write", "path": "a.py/b", "text": ""})


def test_line_endings_and_permission_bits_stay(tmp_path):
    script = tmp_path / "run.sh"
    script.write_bytes(b"echo one\r\necho two\r\n")
    script.chmod(0o755)
    edit(tmp_path, {"op": "replace", "path": "run.sh", "search": "two", "replace": "three"})
    assert script.read_bytes() == b"echo one\r\necho three\r\n"
    assert script.stat().st_mode & 0o777 == 0o755


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("../x", "climbs out of the workspace"),
        ("a/../../x", "climbs out of the workspace"),
        ("/etc/passwd", "is not a plain relative path"),
        ("~/x", "is not a plain relative path"),
        ("", "is not a plain relative path"),
        (".git/hooks/post-commit", "enters .git"),
        ("sub/.GIT/config", "enters .GIT"),
        (".aide/cipher.toml", "enters .aide"),
        ("out/x", "leads through a link out of the workspace"),
        ("inner/config", "goes through a link"),
        ("a\nb", "unprintable"),
    ],
)
@pytest.mark.parametrize("op", ["write", "delete", "rename"])
def test_a_path_that_escapes_is_refused_by_name(tmp_path, path, words, op):
    root = tmp_path / "root"
    (root / ".git").mkdir(parents=True)
    (root / "a.py").write_text("a")
    (root / "out").symlink_to(tmp_path)
    (root / "inner").symlink_to(".git")
    (root / "linked.py").symlink_to("a.py")
    edits = {
        "write": {"op": "write", "path": path, "text": "bad"},
        "delete": {"op": "delete", "path": path},
        "rename": {"op": "rename", "path": "a.py", "to": path},
    }
    with pytest.raises(UnsafePathError) as caught:
        edit(root, edits[op])
    assert words in str(caught.value)
    assert repr(path) in str(caught.value)
    assert (root / "a.py").read_text() == "a"


@pytest.mark.parametrize(
    "change",
    [
        {"op": "write", "text": "bad"},
        {"op": "replace", "search": "a", "replace": "bad"},
        {"op": "patch", "diff": "@@ -1 +1 @@\n-a\n+bad\n"},
        {"op": "mode", "mode": "755"},
    ],
)
def test_nothing_is_written_through_a_link(tmp_path, change):
    (tmp_path / "a.py").write_text("a")
    (tmp_path / "linked.py").symlink_to("a.py")
    with pytest.raises(UnsafePathError, match=r"'linked\.py' goes through a link; name the real file"):
        edit(tmp_path, {**change, "path": "linked.py"})
    assert (tmp_path / "a.py").read_text() == "a"


@pytest.mark.parametrize("target", ["a.py", "folder", "nowhere", "../outside", "/etc/passwd"])
def test_a_link_is_deleted_and_renamed_itself_whatever_it_points_to(tmp_path, target):
    root = tmp_path / "root"
    (root / "folder").mkdir(parents=True)
    (root / "folder/b.py").write_text("b")
    (root / "a.py").write_text("a")
    (tmp_path / "outside").write_text("o")
    (root / "one").symlink_to(target)
    (root / "two").symlink_to(target)
    edit(root, {"op": "delete", "path": "one"}, {"op": "rename", "path": "two", "to": "sub/three"})
    assert sorted(str(path.relative_to(root)) for path in root.rglob("*")) == (
        ["a.py", "folder", "folder/b.py", "sub", "sub/three"]
    )
    assert str((root / "sub/three").readlink()) == target
    assert (tmp_path / "outside").read_text() == "o"


def test_a_link_that_is_renamed_in_front_of_a_new_file_leads_nowhere(tmp_path):
    root = tmp_path / "root"
    (root / "sub").mkdir(parents=True)
    (root / "sub/up").symlink_to("../..")
    with pytest.raises(ProposalError, match="up/x lies in up, which the edits make a file"):
        edit(
            root,
            {"op": "rename", "path": "sub/up", "to": "up"},
            {"op": "write", "path": "up/x", "text": "escaped"},
        )
    assert not (tmp_path / "x").exists()
    assert (root / "sub/up").is_symlink()


def test_a_rename_may_change_only_the_case(tmp_path):
    (tmp_path / "readme.md").write_text("r")
    (tmp_path / "README.txt").write_text("another")
    edit(tmp_path, {"op": "rename", "path": "readme.md", "to": "README.md"})
    assert sorted(path.name for path in tmp_path.iterdir()) == ["README.md", "README.txt"]


def test_a_file_is_neither_lost_nor_taken_for_another_of_the_same_letters(tmp_path):
    (tmp_path / "a.py").write_text("small")
    (tmp_path / "A.py").write_text("big")
    edit(tmp_path, {"op": "delete", "path": "a.py"}, {"op": "write", "path": "a.py", "text": "new"})
    assert ((tmp_path / "a.py").read_text(), (tmp_path / "A.py").read_text()) == ("new", "big")


def test_two_names_of_one_file_that_differ_in_case_are_two_files(tmp_path):
    (tmp_path / "a.py").write_text("a")
    (tmp_path / "A.py").hardlink_to(tmp_path / "a.py")
    with pytest.raises(ProposalError, match=r"A\.py exists already"):
        edit(tmp_path, {"op": "rename", "path": "a.py", "to": "A.py"})


@pytest.mark.parametrize(
    ("before", "mode", "after"),
    [(0o644, "755", 0o755), (0o640, "755", 0o750), (0o600, "755", 0o700), (0o755, "644", 0o644), (0o710, "644", 0o600)],
)
def test_a_mode_changes_the_executable_bit_and_nothing_else(tmp_path, before, mode, after):
    script = tmp_path / "run.sh"
    script.write_bytes(b"\x00binary\xff")
    script.chmod(before)
    edit(tmp_path, {"op": "mode", "path": "run.sh", "mode": mode})
    assert script.stat().st_mode & 0o777 == after
    assert script.read_bytes() == b"\x00binary\xff"


def test_a_new_file_can_be_made_executable(tmp_path):
    edit(
        tmp_path,
        {"op": "write", "path": "run.sh", "text": "#!/bin/sh\n"},
        {"op": "mode", "path": "run.sh", "mode": "755"},
    )
    assert (tmp_path / "run.sh").stat().st_mode & 0o777 == 0o755


def test_folders_that_edits_empty_go_and_others_stay(tmp_path):
    for name in ("a/b/one.py", "a/c/two.py", "a/c/kept.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    (tmp_path / "empty").mkdir()
    edit(tmp_path, {"op": "delete", "path": "a/b/one.py"}, {"op": "rename", "path": "a/c/two.py", "to": "two.py"})
    assert sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")) == (
        ["a", "a/c", "a/c/kept.py", "empty", "two.py"]
    )


def test_an_empty_search_makes_a_file_that_is_not_there_or_empty(tmp_path):
    (tmp_path / "empty.py").touch()
    for name in ("new.py", "empty.py"):
        edit(tmp_path, {"op": "replace", "path": name, "search": "", "replace": "x\n"})
        assert (tmp_path / name).read_text() == "x\n"


def test_empty_and_binary_files_are_deleted_renamed_and_written_anew(tmp_path):
    (tmp_path / "empty").touch()
    (tmp_path / "one.bin").write_bytes(b"\x00\xff")
    (tmp_path / "two.bin").write_bytes(b"\x00\xff")
    edit(
        tmp_path,
        {"op": "rename", "path": "empty", "to": "still-empty"},
        {"op": "rename", "path": "one.bin", "to": "moved.bin"},
        {"op": "write", "path": "two.bin", "text": "text"},
        {"op": "write", "path": "new-empty", "text": ""},
    )
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == (
        {"still-empty": b"", "moved.bin": b"\x00\xff", "two.bin": b"text", "new-empty": b""}
    )


def test_what_is_neither_file_nor_link_is_left_alone(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ProposalError, match="pipe is neither a file nor a link"):
        edit(tmp_path, {"op": "write", "path": "pipe", "text": "x"})
