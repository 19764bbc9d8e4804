from __future__ import annotations

import shutil
import subprocess

import pytest

from cipher_nb.sandbox.diff import unified_diff
from cipher_nb.sandbox.proposal.changes import apply_edits, plan
from cipher_nb.sandbox.proposal.edits import Delete, Mode, Proposal, Rename, Replace, Write
from tests.sandbox.conftest import git, make_project
from tests.sandbox.trees import make, snapshot


def test_a_change_reads_as_git_would_show_it(project):
    changes = plan(project, Proposal("", (Replace("calc.py", "a - b", "a + b"),)))
    assert unified_diff(project, changes) == (
        "diff --git a/calc.py b/calc.py\n"
        "--- a/calc.py\n"
        "+++ b/calc.py\n"
        "@@ -1,2 +1,2 @@\n"
        " def add(a, b):\n"
        "-    return a - b\n"
        "+    return a + b\n"
    )


def test_what_stays_the_same_is_no_diff(project):
    assert unified_diff(project, plan(project, Proposal("", (Replace("calc.py", "a - b", "a - b"),)))) == ""


def diff_of(root, *edits):
    return unified_diff(root, plan(root, Proposal("", edits)))


def test_mode_rename_and_link_read_as_git_shows_them(project):
    make(project, "link", "calc.py")
    long = "".join(f"line {n}\n" for n in range(10))
    make(project, "long.txt", long.encode())
    assert diff_of(
        project,
        Mode("calc.py", "755"),
        Rename("notes.txt", "moved.txt"),
        Rename("long.txt", "other.txt"),
        Replace("other.txt", "line 5\n", "line five\n"),
        Delete("link"),
    ) == (
        "diff --git a/calc.py b/calc.py\nold mode 100644\nnew mode 100755\n"
        "diff --git a/link b/link\ndeleted file mode 120000\n--- a/link\n+++ /dev/null\n@@ -1 +0,0 @@\n-calc.py\n"
        "\\ No newline at end of file\n"
        "diff --git a/notes.txt b/moved.txt\nsimilarity index 100%\nrename from notes.txt\nrename to moved.txt\n"
        "diff --git a/long.txt b/other.txt\nsimilarity index 86%\nrename from long.txt\nrename to other.txt\n"
        "--- a/long.txt\n+++ b/other.txt\n@@ -3,7 +3,7 @@\n line 2\n line 3\n line 4\n-line 5\n+line five\n line 6\n"
        " line 7\n line 8\n"
    )


def test_files_without_much_in_common_are_no_rename(project):
    diff = diff_of(project, Delete("calc.py"), Write("other.py", "class Other:\n    pass\n"))
    assert "rename" not in diff
    assert "deleted file mode 100644" in diff
    assert "new file mode 100644" in diff


def test_a_change_in_an_unknown_encoding_can_be_read_beside_its_binary_form(project):
    (project / "latin.txt").write_bytes(b"caf\xe9\nx = 1\n")
    assert diff_of(project, Replace("latin.txt", "x = 1", "x = 2")).endswith("\n\n# @@ -2 +2 @@\n# -x = 1\n# +x = 2\n")


def test_a_name_with_a_space_ends_in_a_tab_and_one_with_a_quote_is_quoted(project):
    make(project, "s p.txt", b"one\n")
    assert "\n--- a/s p.txt\t\n+++ b/s p.txt\t\n@@" in diff_of(project, Replace("s p.txt", "one", "1"))
    assert '+++ "b/q\\"q.txt"\n' in diff_of(project, Write('q"q.txt', "x"))


CASES = {
    "odd separators": (Replace("odd.txt", "last", "final"),),
    "new and empty": (Write("new/deep.txt", "no end"), Write("new/empty.txt", ""), Delete("empty.txt")),
    "empty to full": (Write("empty.txt", "x\n"),),
    "full to empty": (Write("plain.txt", ""),),
    "newline at the end comes": (Write("odd.txt", "x\n"),),
    "crlf": (Replace("crlf.txt", "two\n", "2\n2b\n"),),
    "bom": (Replace("bom.txt", "one", "1"),),
    "latin-1": (Replace("latin.txt", "x = 1", "x = 2"),),
    "latin-1 and another": (Replace("latin.txt", "x = 1", "x = 2"), Replace("plain.txt", "one", "1")),
    "binary goes": (Delete("b.bin"),),
    "binary moves": (Rename("b.bin", "sub/c.bin"),),
    "binary becomes text": (Write("b.bin", "text\n"),),
    "binary becomes executable": (Mode("b.bin", "755"),),
    "large binary becomes text": (Write("large.bin", "".join(f"{n} caf\u00e9\n" for n in range(5000))),),
    "rename": (Rename("plain.txt", "sub/moved.txt"),),
    "rename of an empty file": (Rename("empty.txt", "none.txt"),),
    "rename and change": (Rename("long.txt", "l.txt"), Replace("l.txt", "line 3\n", "3\n"), Mode("l.txt", "755")),
    "rename to another case": (Rename("plain.txt", "PLAIN.txt"),),
    "swap": (Rename("plain.txt", "t"), Rename("odd.txt", "plain.txt"), Rename("t", "odd.txt")),
    "mode on": (Mode("plain.txt", "755"),),
    "mode off and change": (Mode("run.sh", "644"), Replace("run.sh", "echo", "printf")),
    "new executable": (Write("new.sh", "#!/bin/sh\n"), Mode("new.sh", "755")),
    "link goes": (Delete("link"),),
    "link moves": (Rename("link", "sub/link"),),
    "link becomes a file": (Delete("link"), Write("link", "x\n")),
    "file becomes a folder": (Delete("plain.txt"), Write("plain.txt/in.txt", "x\n")),
    "spaces and quotes": (Replace('we"ird na\u00efme.txt', "one", "1"), Rename("s p.txt", "t q.txt")),
    "spaces in a changed name": (Replace("s p.txt", "one", "1"), Write("new one.txt", "x")),
}


@pytest.fixture(scope="module")
def with_odd_files(tmp_path_factory):
    """A repository that holds a file of every kind, all committed."""
    root = make_project(tmp_path_factory.mktemp("odd") / "project")
    files = {
        "odd.txt": b"form\x0cfeed\xe2\x80\xa8sep\nlast line without end",
        "empty.txt": b"",
        "plain.txt": b"one\ntwo\n",
        "long.txt": b"".join(b"line %d\n" % n for n in range(20)),
        "crlf.txt": b"one\r\ntwo\r\n",
        "bom.txt": b"\xef\xbb\xbfone\n",
        "latin.txt": b"caf\xe9\nx = 1\n",
        "b.bin": b"\xff\x00\x01",
        "large.bin": bytes(range(256)) * 50,
        'we"ird na\u00efme.txt': b"one\n",
        "s p.txt": b"one\n",
        "link": "plain.txt",
    }
    for name, content in files.items():
        make(root, name, content)
    make(root, "run.sh", b"echo 1\n", 0o755)
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message=more")
    return root


@pytest.mark.parametrize("edits", CASES.values(), ids=CASES)
def test_git_applies_the_diff_to_the_same_end(with_odd_files, tmp_path, edits):
    gits, mine = (shutil.copytree(with_odd_files, tmp_path / name, symlinks=True) for name in ("gits", "mine"))
    diff = diff_of(gits, *edits)
    apply_edits(mine, Proposal("", edits))
    command = ["git", "apply", "--whitespace=nowarn"]
    subprocess.run(command, cwd=gits, input=diff.encode(), check=True)
    assert tree(gits) == tree(mine) != tree(with_odd_files)


def tree(root):
    return {name: entry for name, entry in snapshot(root).items() if not name.startswith(".git/")}
