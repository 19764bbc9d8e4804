"""Copies of several tasks: taken over one from the other, at the same time, and when a process is killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from cipher_nb.config import SandboxSettings
from cipher_nb.errors import SandboxError
from cipher_nb.sandbox.loop import verify
from cipher_nb.sandbox.scratch import in_use, make_copy
from tests.sandbox.conftest import BROKEN

FILES = [".gitignore", "calc.py", "notes.txt", "pytest.ini", "test_calc.py"]
HOLD = """
import pathlib, sys, time
from cipher_nb.sandbox.scratch import in_use, make_copy
root, copy = map(pathlib.Path, sys.argv[1:])
with in_use(copy):
    make_copy(root, copy)
    print("made", flush=True)
    time.sleep(60)
"""
MAKE = """
import pathlib, sys
from cipher_nb.sandbox.scratch import in_use, make_copy
root, prefix, count = pathlib.Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
for number in range(count):
    copy = root / ".aide/sandboxes" / f"{prefix}{number}"
    with in_use(copy):
        for attempt in range(3):
            make_copy(root, copy)
            found = {path.name: path.read_bytes() for path in copy.rglob("*")}
            assert found == {name: (root / name).read_bytes() for name in FILES}, (copy, found)
            (copy / "calc.py").write_text(prefix)
            (copy / "left.txt").write_text(prefix)
print("done")
"""
MAKE_FOREVER = """
from cipher_nb.sandbox.scratch import make_copy
print("go", flush=True)
while True:
    for name in "ab":
        make_copy(project, project / ".aide/sandboxes" / name)
"""


def visible(sandboxes):
    return sorted(path.name for path in sandboxes.iterdir() if path.name[0] != ".")


def test_the_next_task_takes_over_the_copy_that_no_task_uses(project):
    sandboxes = project / ".aide/sandboxes"
    make_copy(project, sandboxes / "t1")
    make_copy(project, sandboxes / "t1")
    before = {name: (sandboxes / "t1" / name).stat().st_ino for name in FILES}
    (sandboxes / "t1/left.txt").write_text("left by a check")
    (sandboxes / "t1/notes.txt").write_text("by the first task")
    make_copy(project, sandboxes / "t2")
    assert visible(sandboxes) == ["current", "t2"]
    assert (sandboxes / "current").readlink().name == "t2"
    assert sorted(path.name for path in (sandboxes / "t2").iterdir()) == FILES
    assert (sandboxes / "t2/notes.txt").read_text() == "one\n"
    assert (sandboxes / "t2/calc.py").stat().st_ino == before["calc.py"]


def test_a_copy_in_use_is_not_taken_over(project):
    sandboxes = project / ".aide/sandboxes"
    with in_use(sandboxes / "t1"):
        make_copy(project, sandboxes / "t1")
        make_copy(project, sandboxes / "t2")
        assert visible(sandboxes) == ["current", "t1", "t2"]
    make_copy(project, sandboxes / "t3")
    assert visible(sandboxes) == ["current", "t1", "t3"]


def test_a_task_keeps_its_copy_while_the_model_is_asked(project):
    sandboxes, seen = project / ".aide/sandboxes", []

    def propose(feedback):
        if feedback:
            make_copy(project, sandboxes / "t2")
            seen.extend(visible(sandboxes))
        edit = {"op": "write", "path": "calc.py", "text": f"after {feedback}"}
        return json.dumps({"intent": "try", "edits": [edit], "checks": []})

    settings = SandboxSettings(attempts=2)
    verify(propose, root=project, sandbox=sandboxes / "t1", checks=["false"], settings=settings)
    assert seen == ["current", "t1", "t2"]


def test_a_half_made_copy_is_not_taken_over(project):
    sandboxes = project / ".aide/sandboxes"
    (sandboxes / "t1").mkdir(parents=True)
    (sandboxes / "t1/calc.py").write_text("half")
    make_copy(project, sandboxes / "t2")
    assert visible(sandboxes) == ["current", "t1", "t2"]
    make_copy(project, sandboxes / "t1")
    assert (sandboxes / "t1/calc.py").read_text() == BROKEN


def test_a_copy_is_free_again_when_the_process_that_used_it_is_killed(project):
    sandboxes = project / ".aide/sandboxes"
    command = [sys.executable, "-c", HOLD, str(project), str(sandboxes / "t1")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as holder:
        try:
            assert holder.stdout is not None
            assert holder.stdout.readline() == "made\n"
            make_copy(project, sandboxes / "t2")
            assert visible(sandboxes) == ["current", "t1", "t2"]
        finally:
            holder.kill()
    (sandboxes / "t2").rename(sandboxes / ".elsewhere")
    make_copy(project, sandboxes / "t3")
    assert visible(sandboxes) == ["current", "t3"]


def test_one_copy_cannot_be_used_twice(project):
    copy = project / ".aide/sandboxes/t1"
    with in_use(copy), pytest.raises(SandboxError, match=r"sandboxes/t1 is in use by another task"), in_use(copy):
        pass


def test_tasks_at_the_same_time_do_not_disturb_each_other(project):
    code = f"FILES = {FILES!r}\n{MAKE}"
    workers = [
        subprocess.Popen([sys.executable, "-c", code, str(project), prefix, "8"], stdout=subprocess.PIPE, text=True)
        for prefix in ("a", "b", "c")
    ]
    assert [worker.communicate(timeout=60)[0] for worker in workers] == ["done\n"] * 3
    sandboxes = project / ".aide/sandboxes"
    assert (sandboxes / "current").resolve().is_dir()
    assert len(visible(sandboxes)) <= 4


@pytest.mark.slow
def test_a_process_killed_at_any_moment_leaves_nothing_that_the_next_copy_trusts(project):
    for number in range(120):
        (project / f"data{number}.bin").write_bytes(os.urandom(20_000))
    sandboxes = project / ".aide/sandboxes"
    code = f"import pathlib\nproject = pathlib.Path({str(project)!r})\n{MAKE_FOREVER}"
    for moment in range(50):
        with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as worker:
            assert worker.stdout is not None
            worker.stdout.readline()
            for changed in range(moment % 10):
                (project / f"data{changed}.bin").write_bytes(os.urandom(20_000))
            time.sleep(moment / 500)
            worker.send_signal(signal.SIGKILL)
        copy = sandboxes / "ab"[moment % 2]
        listing = make_copy(project, copy)
        assert {name: (copy / name).read_bytes() for name in listing.paths} == {
            name: (project / name).read_bytes() for name in listing.paths
        }
        assert sorted(path.name for path in copy.iterdir()) == list(listing.paths)
