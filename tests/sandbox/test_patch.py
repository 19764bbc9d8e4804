from __future__ import annotations

import subprocess

import pytest

from cipher_nb.errors import ProposalError
from cipher_nb.sandbox.proposal.patch import patched

BODY = b"".join(b"line %d\n" % n for n in range(1, 21))


def test_a_diff_made_by_git_arrives_as_git_means_it(project):
    (project / "f.txt").write_bytes(BODY)
    subprocess.run(["git", "add", "f.txt"], cwd=project, check=True)
    lines = BODY.splitlines(keepends=True)
    changed = b"".join([b"new first\n", *lines[:4], b"five\n", *lines[5:16], b"added\n", *lines[16:19], b"no end"])
    (project / "f.txt").write_bytes(changed)
    diff = subprocess.run(["git", "diff", "f.txt"], cwd=project, capture_output=True, text=True, check=True).stdout
    assert diff.startswith("diff --git a/f.txt b/f.txt\nindex ")
    assert patched("f.txt", BODY, diff) == changed


@pytest.mark.parametrize(
    ("before", "diff", "expected"),
    [
        (b"a\nb\n", "@@ -1,2 +1,2 @@\n a\n-b\n+c\n", b"a\nc\n"),
        (b"a\nb\n", "--- f\n+++ f\n@@ -1,2 +1,2 @@ def f():\n a\n-b\n+c", b"a\nc\n"),
        (b"a\nb", "@@ -1,2 +1,2 @@\n a\n-b\n+c\n", b"a\nc"),
        (b"a\nb", "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+b\n", b"a\nb\n"),
        (b"a\nb\n", "@@ -1,2 +1,2 @@\n a\n-b\n+b\n\\ No newline at end of file\n", b"a\nb"),
        (b"a\n\nb\n", "@@ -1,3 +1,3 @@\n a\n\n-b\n+c\n", b"a\n\nc\n"),
        (b"a\n", "@@ -1 +0,0 @@\n-a\n", b""),
        (b"", "@@ -0,0 +1,2 @@\n+a\n+b\n", b"a\nb\n"),
        (b"a\n-- b\n", "@@ -1,2 +1,2 @@\n a\n--- b\n+++ c\n", b"a\n++ c\n"),
        (b"x\na\nb\n", "@@ -9,2 +9,2 @@\n a\n-b\n+c\n", b"x\na\nc\n"),
        (b"a\nb\na\nb\n", "@@ -3,2 +3,2 @@\n a\n-b\n+c\n", b"a\nb\na\nc\n"),
        (b"a\nb\na\nb\n", "@@ -1,2 +1,2 @@\n a\n-b\n+1\n@@ -3,2 +3,2 @@\n a\n-b\n+2\n", b"a\n1\na\n2\n"),
        (b"a\nb\n", "@@ -1 +1 @@\n-a\n+1\n\n@@ -2 +2 @@\n-b\n+2\n\n", b"1\n2\n"),
    ],
)
def test_a_hunk_is_carried_out_where_it_fits(before, diff, expected):
    assert patched("f", before, diff) == expected


@pytest.mark.parametrize(
    ("before", "diff", "words"),
    [
        (
            b"def f():\n    return 1\n",
            "@@ -1,2 +1,2 @@\n def f():\n-  return 1\n+  return 2\n",
            "f: hunk 1 does not fit: nearest is lines 1-2, where line 2 is '    return 1', not '  return 1'",
        ),
        (
            BODY,
            "@@ -1,2 +1,2 @@\n line 1\n-line 2\n+two\n@@ -9,2 +9,2 @@\n zebra\n-apple\n+pear\n",
            "f: hunk 2 does not fit: line 9 is 'line 9', not 'zebra'",
        ),
        (b"a\n", "@@ -5,2 +5,2 @@\n zebra\n-apple\n+pear\n", "line 5 is behind the end of the file, not 'zebra'"),
        (
            b"a\nb\nx\na\nb\n",
            "@@ -3,2 +3,2 @@\n a\n-b\n+c\n",
            "hunk 1 fits not at line 3 but at lines 1, 4; correct its number",
        ),
        (
            b"a\nb\n",
            "@@ -2 +2 @@\n-b\n+c\n@@ -1 +1 @@\n-a\n+c\n",
            "hunk 2 does not fit: its lines stand in front of those of the hunk before it",
        ),
        (b"a\nb\n", "@@ -1,3 +1,2 @@\n a\n-b\n+c\n", "hunk 1 says 3 old and 2 new lines and has 2 and 2"),
        (b"a\nb\n", "@@ -1,1 +1,1 @@\n a\n-b\n+c\n", "hunk 1 says 1 old and 1 new lines and has 2 and 2"),
        (b"a\nb\n", "@@ -1,0 +2,1 @@\n+c\n", "hunk 1 has no line of the file; add the lines around the new ones"),
        (b"a\n", "-a\n+b\n", "line 1 of the diff is '-a'; send hunks of this one file only"),
        (b"a\n", "", "line 1 of the diff is ''; send hunks"),
        (b"a\n", "--- a/f\n+++ b/f\n", "line 2 of the diff is '+++ b/f'; send hunks"),
        (b"a\n", "--- a/g\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n", "f: the diff is of g; send one edit a file"),
        (b"a\n", "--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+b\n", "f: the diff is of /dev/null; send one edit a file"),
        (
            b"a\n",
            "@@ -1 +1 @@\n-a\n+b\n--- a/g\n+++ b/g\n@@ -1 +1 @@\n-a\n+b\n",
            "line 4 of the diff is '--- a/g'; send hunks of this one file only",
        ),
        (b"a\n", "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n", "but the file ends in one"),
        (b"a\nb", "@@ -1 +1 @@\n-a\n+c\n\\ No newline at end of file\n", "but the file goes on there"),
    ],
)
def test_what_does_not_fit_is_refused_by_hunk_and_line(before, diff, words):
    with pytest.raises(ProposalError) as caught:
        patched("f", before, diff)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
