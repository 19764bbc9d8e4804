from __future__ import annotations

import subprocess

from cipher_nb.sandbox.changes import apply_edits, plan
from cipher_nb.sandbox.diff import unified_diff
from cipher_nb.sandbox.edits import Delete, Proposal, Rename, Replace, Write


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


def test_git_applies_the_diff_to_the_same_end(project, tmp_path):
    (project / "odd.txt").write_bytes(b"form\x0cfeed\xe2\x80\xa8sep\nlast line without end")
    (project / "empty.txt").write_text("")
    proposal = Proposal(
        "",
        (
            Replace("odd.txt", "last", "final"),
            Write("new/deep.txt", "no end"),
            Write("new/empty.txt", ""),
            Delete("empty.txt"),
            Rename("notes.txt", "notes.md"),
        ),
    )
    diff = unified_diff(project, plan(project, proposal))
    mine = tmp_path / "mine"
    mine.mkdir()
    for name in ("odd.txt", "empty.txt", "notes.txt"):
        (mine / name).write_bytes((project / name).read_bytes())
    apply_edits(mine, proposal)
    subprocess.run(["git", "apply"], cwd=project, input=diff.encode(), check=True)
    for name in ("odd.txt", "new/deep.txt", "new/empty.txt", "notes.md"):
        assert (project / name).read_bytes() == (mine / name).read_bytes()
    assert not (project / "empty.txt").exists()
    assert not (project / "notes.txt").exists()


def test_a_binary_file_is_named_and_not_shown(project):
    (project / "b.bin").write_bytes(b"\xff\x00")
    assert unified_diff(project, plan(project, Proposal("", (Delete("b.bin"),)))) == (
        "diff --git a/b.bin b/b.bin\ndeleted file mode 100644\nBinary files a/b.bin and /dev/null differ\n"
    )
