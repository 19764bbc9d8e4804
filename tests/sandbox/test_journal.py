from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from cipher_nb.errors import ConflictError, SandboxError
from cipher_nb.sandbox.journal import last_kind, recover, revert
from cipher_nb.sandbox.proposal.changes import hashes
from cipher_nb.sandbox.proposal.edits import Delete, Mode, Proposal, Rename, Replace, Write
from cipher_nb.sandbox.ship import apply_to_tree
from tests.sandbox.trees import make, snapshot

KILLS = 50
HERE = Path(__file__).parents[2]


def apply_now(root, *edits):
    proposal = Proposal("", edits)
    apply_to_tree(root, proposal, base_hashes=hashes(root, proposal.touched()), aide=root / ".aide", task="t1")


def small_tree(root):
    make(root, "a.py", b"a\n", 0o640)
    make(root, "run.sh", b"run\r\n", 0o755)
    make(root, "deep/er/only.py", b"")
    make(root, "deep/link", "../a.py")
    make(root, "tool", b"\x00\xff")
    (root / "deep/er").chmod(0o700)


EDITS = (
    Replace("a.py", "a", "b"),
    Rename("deep/link", "link"),
    Delete("deep/er/only.py"),
    Mode("run.sh", "644"),
    Delete("tool"),
    Write("tool/main.py", "new"),
    Write("made/for/this.py", "new"),
)


def test_undo_restores_bytes_modes_links_and_folders(tmp_path):
    small_tree(tmp_path)
    before = snapshot(tmp_path)
    apply_now(tmp_path, *EDITS)
    assert snapshot(tmp_path) == {
        "a.py": ("file", "0o640", b"b\n"),
        "link": ("link", "../a.py"),
        "made": ("folder", "0o755"),
        "made/for": ("folder", "0o755"),
        "made/for/this.py": ("file", "0o644", b"new"),
        "run.sh": ("file", "0o644", b"run\r\n"),
        "tool": ("folder", "0o755"),
        "tool/main.py": ("file", "0o644", b"new"),
    }
    assert last_kind(tmp_path / ".aide", "t1") == "apply"
    revert(tmp_path, tmp_path / ".aide", "t1")
    assert snapshot(tmp_path) == before
    assert last_kind(tmp_path / ".aide", "t1") == "revert"
    assert list((tmp_path / ".aide/journal").iterdir()) == []


def test_undo_leaves_what_the_operator_put_into_a_new_folder(tmp_path):
    apply_now(tmp_path, Write("made/this.py", "new"))
    (tmp_path / "made/mine.py").write_text("mine")
    revert(tmp_path, tmp_path / ".aide", "t1")
    assert list(snapshot(tmp_path)) == ["made", "made/mine.py"]


@pytest.mark.parametrize("how", ["bytes", "mode", "gone", "link", "came back"])
def test_undo_refuses_by_name_when_a_file_changed_since(tmp_path, how):
    small_tree(tmp_path)
    apply_now(tmp_path, *EDITS)
    name = "deep/er/only.py" if how == "came back" else "link" if how == "link" else "a.py"
    if how == "mode":
        (tmp_path / name).chmod(0o755)
    elif how != "came back":
        (tmp_path / name).unlink()
    if how in ("bytes", "came back"):
        make(tmp_path, name, b"theirs", 0o640)
    if how == "link":
        make(tmp_path, name, "elsewhere")
    now = snapshot(tmp_path)
    with pytest.raises(ConflictError, match=f"^{name} changed since task t1 was approved"):
        revert(tmp_path, tmp_path / ".aide", "t1")
    assert snapshot(tmp_path) == now


def test_undo_without_a_record_says_so(tmp_path):
    with pytest.raises(SandboxError, match=r"there is no record in .* to undo task t1 by"):
        revert(tmp_path, tmp_path / ".aide", "t1")


SAVING = """
import sys
from pathlib import Path
from tests.sandbox.test_journal import EDITS, apply_now

root = Path(sys.argv[1])


def save(event, arguments):
    if event == "os.rename" and str(arguments[1]).endswith("journal/t1"):
        (root / "a.py").write_text("saved in an editor")


sys.addaudithook(save)
try:
    apply_now(root, *EDITS)
except Exception as error:
    print(type(error).__name__, error)
"""


def test_a_file_saved_while_the_journal_is_written_is_not_lost(tmp_path):
    small_tree(tmp_path)
    before = snapshot(tmp_path)
    done = subprocess.run(
        [sys.executable, "-c", SAVING, tmp_path], cwd=HERE, capture_output=True, text=True, check=True
    )
    assert done.stdout == "ConflictError a.py was changed by somebody else at this moment; try again\n"
    assert snapshot(tmp_path) == before | {"a.py": ("file", "0o640", b"saved in an editor")}
    assert list((tmp_path / ".aide/journal").iterdir()) == []


@contextmanager
def nobody(folder):
    """Be a user whom file modes bind, in a folder of theirs."""
    if os.geteuid() != 0:
        yield
        return
    for path in (folder, *folder.rglob("*")):
        os.chown(path, 65534, 65534, follow_symlinks=False)
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def open_folder():
    """A temporary folder that other users reach too."""
    folder = Path(tempfile.mkdtemp(dir="/tmp"))
    yield folder
    shutil.rmtree(folder)


def test_when_one_file_cannot_be_put_in_place_all_others_are_put_back(open_folder):
    small_tree(open_folder)
    make(open_folder, "closed/z.py", b"z")
    (open_folder / "closed").chmod(0o555)
    before = snapshot(open_folder)
    with nobody(open_folder), pytest.raises(SandboxError) as caught:
        apply_now(open_folder, *EDITS, Write("closed/z.py", "new"))
    assert str(caught.value) == "closed/z.py could not be written (Permission denied); all other files are as they were"
    assert snapshot(open_folder) == before
    assert list((open_folder / ".aide/journal").iterdir()) == []


def test_when_the_journal_cannot_be_written_nothing_is_touched(tmp_path):
    small_tree(tmp_path)
    before = snapshot(tmp_path)
    (tmp_path / ".aide").write_text("a file where the folder should be")
    with pytest.raises(SandboxError, match=r"journal could not be written \(Not a directory\); no file was changed"):
        apply_now(tmp_path, *EDITS)
    assert snapshot(tmp_path) == before


def many_files(root):
    """Return edits of every kind to about 30 files of a new tree."""
    for n in range(10):
        make(root, f"src/replaced_{n}.py", b"value = 1\n" * (1 + n * 500), 0o755 if n % 2 else 0o640)
        make(root, f"gone/{n}/only.bin", b"\x00" * 1000)
        make(root, f"links/{n}", f"../src/replaced_{n}.py")
    edits = [{"op": "write", "path": f"src/replaced_{n}.py", "text": f"new {n}\n" * 500} for n in range(10)]
    edits += [{"op": "delete", "path": f"gone/{n}/only.bin"} for n in range(10)]
    edits += [{"op": "rename", "path": f"links/{n}", "to": f"moved/{n}/link"} for n in range(5)]
    edits += [{"op": "mode", "path": f"src/replaced_{n}.py", "mode": "755"} for n in range(0, 10, 2)]
    return [*edits, *({"op": "write", "path": f"made/{n}/new.py", "text": "x\n"} for n in range(8))]


class Applied:
    """A tree before and after, and a way to have a process change it and be killed."""

    def __init__(self, folder):
        self.folder, self.pristine = folder, folder / "pristine"
        self.pristine.mkdir()
        proposal = {"edits": many_files(self.pristine)}
        (folder / "proposal.json").write_text(json.dumps(proposal))
        paths = [path for edit in proposal["edits"] for path in (edit["path"], edit.get("to")) if path]
        (folder / "base.json").write_text(json.dumps(hashes(self.pristine, paths)))
        self.before = snapshot(self.pristine)
        applied, _ = self.fresh("apply")
        assert applied.wait() == 0
        self.after = snapshot(self.root)

    def fresh(self, action, number=0, *, start=None):
        """Start the change of a fresh tree, or of a copy of `start`; return the process and when it began to work."""
        self.root = self.folder / "root"
        shutil.rmtree(self.root, ignore_errors=True)
        shutil.copytree(start or self.pristine, self.root, symlinks=True)
        files = (self.folder / "proposal.json", self.folder / "base.json")
        command = [sys.executable, "-m", "tests.sandbox.applying", self.root, *files, action, str(number)]
        process = subprocess.Popen(command, cwd=HERE, stdout=subprocess.PIPE)
        with process.stdout:
            assert process.stdout.readline() == b"ready\n"
        return process, time.monotonic()

    def check(self):
        """After a recovery the tree is wholly before or wholly after, and nothing else is left; tell which."""
        found = snapshot(self.root)
        kinds = {"before": found == self.before, "after": found == self.after}
        assert sum(kinds.values()) == 1, {key: value for key, value in found.items() if self.before.get(key) != value}
        journal = self.root / ".aide/journal"
        assert not journal.exists() or list(journal.iterdir()) == []
        return "before" if kinds["before"] else "after"


@pytest.mark.slow
def test_kill_at_any_moment_of_an_apply_leaves_all_of_it_or_nothing(tmp_path):
    applied = Applied(tmp_path)
    process, started = applied.fresh("apply")
    process.wait()
    duration = time.monotonic() - started
    chance, ends = random.Random(4), []
    for _ in range(KILLS):
        process, started = applied.fresh("apply")
        time.sleep(chance.random() * 2 * duration)
        process.kill()
        if process.wait():  # it was not done yet, and may be slower by now
            duration = max(duration, time.monotonic() - started)
        recover(applied.root, applied.root / ".aide")
        ends.append(applied.check())
    assert {*ends} == {"before", "after"}


@pytest.mark.slow
@pytest.mark.parametrize("action", ["apply", "revert"])
def test_kill_in_front_of_any_change_of_the_disk_leaves_all_of_it_or_nothing(tmp_path, action):
    applied = Applied(tmp_path)
    start = tmp_path / "start"
    shutil.copytree(applied.root if action == "revert" else applied.pristine, start, symlinks=True)
    ends, torn, step = [], 0, 3
    for number in range(1, 1000, step):
        process, _ = applied.fresh(action, number, start=start)
        if process.wait() == 0:
            break
        assert process.returncode == -signal.SIGKILL
        found = snapshot(applied.root)
        torn += found not in (applied.before, applied.after)
        done = recover(applied.root, applied.root / ".aide")
        assert all(each.finished and not each.left_alone for each in done)
        ends.append(applied.check())
    first, last = ("before", "after") if action == "apply" else ("after", "before")
    turn = ends.index(last)
    assert ends == [first] * turn + [last] * (len(ends) - turn)
    assert len(ends) * step > 100
    assert torn > 15  # moments at which only the recovery made it whole


@pytest.fixture
def torn(tmp_path):
    """A tree whose apply died half-way, before its last changes of the disk."""
    applied = Applied(tmp_path)
    number = 125
    while True:
        process, _ = applied.fresh("apply", number)
        assert process.wait() == -signal.SIGKILL
        names = snapshot(applied.root)
        if 0 < sum(f"made/{n}/new.py" in names for n in range(8)) < 8:
            return applied
        number += 3


@pytest.mark.slow
def test_a_file_that_is_neither_before_nor_after_is_left_alone_and_named_and_the_rest_taken_back(torn):
    mine = torn.root / "src/replaced_3.py"
    mine.write_bytes(b"the operator was here\n")
    [done] = recover(torn.root, torn.root / ".aide")
    assert (done.task, done.kind, done.finished, done.left_alone) == ("t1", "apply", False, ("src/replaced_3.py",))
    assert mine.read_bytes() == b"the operator was here\n"
    found = snapshot(torn.root)
    assert {key: value for key, value in found.items() if torn.before[key] != value} == (
        {"src/replaced_3.py": ("file", "0o755", b"the operator was here\n")}
    )
    assert recover(torn.root, torn.root / ".aide") == ()


@pytest.mark.slow
def test_a_recovery_that_dies_is_finished_by_the_next(torn):
    saved = torn.folder / "saved"
    shutil.copytree(torn.root, saved, symlinks=True)
    code = (
        "import sys; from pathlib import Path; from tests.sandbox.applying import die_at; "
        "from cipher_nb.sandbox.journal import recover; root = Path(sys.argv[1]); die_at(int(sys.argv[2])); "
        "recover(root, root / '.aide')"
    )
    deaths = 0
    for number in range(1, 60, 4):
        shutil.rmtree(torn.root)
        shutil.copytree(saved, torn.root, symlinks=True)
        done = subprocess.run([sys.executable, "-c", code, torn.root, str(number)], cwd=HERE, check=False)
        deaths += done.returncode == -signal.SIGKILL
        recover(torn.root, torn.root / ".aide")
        assert torn.check() == "after"
    assert deaths >= 3
