"""The side-by-side diff: what stands beside what, and what is said in words."""

import re
import subprocess

import pytest

from cipher_nb.cockpit.task_diff import file_changes
from cipher_nb.cockpit.task_diff_view import diff_html
from tests.sandbox.conftest import git, make_project

MINUS = "\N{MINUS SIGN}"


@pytest.fixture
def root(tmp_path):
    return make_project(tmp_path / "project")


def real_diff(root):
    """Return git's own diff of everything changed since the first commit."""
    git(root, "add", "--all")
    command = ["git", "-c", "core.quotePath=false", "diff", "--cached", "--binary", "--find-renames"]
    return subprocess.run(command, cwd=root, capture_output=True, check=True).stdout.decode()


def told(diff):
    return [(change.path, change.words, change.added, change.removed) for change in file_changes(diff)]


def sides(diff):
    """Return number and text before, number and text after, of each row of the first file."""
    rows = [row for hunk in file_changes(diff)[0].hunks for row in hunk.rows]
    return [tuple((line.number, line.text) if line else None for line in (row.old, row.new)) for row in rows]


def cells(html):
    return [re.sub("<[^>]*>", "", cell) for cell in re.findall("<td.*?</td>", html)]


def test_a_changed_line_stands_beside_the_one_it_came_from(root):
    (root / "calc.py").write_text('def add(a, b):\n    """Add."""\n    return a + b\n')
    assert sides(real_diff(root)) == [
        ((1, "def add(a, b):"), (1, "def add(a, b):")),
        (None, (2, '    """Add."""')),
        ((2, "    return a - b"), (3, "    return a + b")),
    ]


def test_signs_stand_beside_the_colours(root):
    (root / "notes.txt").write_text("two\n")
    assert cells(diff_html(real_diff(root))) == ["1", MINUS, "one", "1", "+", "two"]


def test_unchanged_lines_between_are_counted_and_left_out(root):
    lines = [f"line {number}\n" for number in range(1, 101)]
    (root / "notes.txt").write_text("".join(lines))
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message=long")
    lines[9], lines[89] = "ten\n", "ninety\n"
    (root / "notes.txt").write_text("".join(lines))
    html = diff_html(real_diff(root))
    assert re.findall("⋯ .*? ⋯", html) == ["⋯ 6 unchanged lines ⋯", "⋯ 73 unchanged lines ⋯"]
    assert cells(html)[1:3] == ["7", ""]


def test_what_lines_do_not_tell_is_said_in_words(root):
    (root / "new file.txt").write_text("1\n2\n")
    (root / "empty.txt").touch()
    (root / "run.sh").write_text("exit\n")
    (root / "run.sh").chmod(0o755)
    (root / "pytest.ini").unlink()
    (root / "calc.py").chmod(0o755)
    (root / "notes.txt").rename(root / "words.txt")
    (root / "blob.bin").write_bytes(bytes(range(256)))
    (root / "link").symlink_to("calc.py")
    assert told(real_diff(root)) == [
        ("blob.bin", ("new file", "binary"), 0, 0),
        ("calc.py", ("now an executable file",), 0, 0),
        ("empty.txt", ("new file",), 0, 0),
        ("link", ("new link",), 1, 0),
        ("new file.txt", ("new file",), 2, 0),
        ("pytest.ini", ("deleted",), 0, 2),
        ("run.sh", ("new executable file",), 1, 0),
        ("words.txt", ("renamed from notes.txt",), 0, 0),
    ]
    html = diff_html(real_diff(root))
    for words in (
        "new file, binary, its bytes change and are not shown",
        "now an executable file, its content stays as it is",
        "new file, empty",
        "renamed from notes.txt, its content stays as it is",
    ):
        assert words in html


def test_a_new_and_a_deleted_file_have_one_side(root):
    (root / "new.txt").write_text("new\n")
    (root / "notes.txt").unlink()
    html = diff_html(real_diff(root))
    assert re.findall(r">(\w+)</th>", html) == ["after", "before"]
    assert cells(html) == ["1", "+", "new", "1", MINUS, "one"]


def test_lines_that_look_like_a_diff_are_lines(root):
    (root / "notes.txt").write_text("-- a/x\n++ b/y\n")
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message=odd")
    (root / "notes.txt").write_text("diff --git a/q b/q\n@@ -1 +1 @@\n")
    [change] = file_changes(real_diff(root))
    assert (change.path, change.added, change.removed) == ("notes.txt", 2, 2)


def test_a_missing_newline_and_a_carriage_return_are_told(root):
    (root / "notes.txt").write_bytes(b"one\r\ntwo")
    html = diff_html(real_diff(root))
    assert cells(html) == ["1", MINUS, "one", "1", "+", "one\\r", "", "2", "+", "two (no newline at the end)"]


def test_words_that_differ_are_marked(root):
    (root / "calc.py").write_text("def add(a, b):\n    return a + b\n")
    assert re.findall(r"border-radius:2px\">(.*?)</span>", diff_html(real_diff(root))) == ["-", "+"]


def test_a_long_file_is_folded_and_a_short_one_open(root):
    (root / "long.txt").write_text("line\n" * 401)
    (root / "short.txt").write_text("line\n" * 400)
    assert re.findall("<details( open)?", diff_html(real_diff(root))) == ["", " open"]


def test_the_cells_of_a_notebook_are_named(root):
    (root / "n.ipynb").write_text("{}\n")
    edits = [{"op": "cell", "path": "n.ipynb", "cell": "intro", "source": "x"}, {"op": "delete", "path": "a"}]
    assert "new file, cell intro rewritten</span>" in diff_html(real_diff(root), edits)


def test_what_cannot_be_seen_is_spelled_out_and_html_is_text(root):
    (root / "notes.txt").write_text("<b>\u202e\u200b</b>\n")
    assert "&lt;b&gt;\\u202e\\u200b&lt;/b&gt;" in diff_html(real_diff(root))
