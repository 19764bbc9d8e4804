from __future__ import annotations

import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from cipher_nb.errors import SandboxError
from cipher_nb.sandbox.scratch import in_use, make_copy, prune
from cipher_nb.sandbox.scratch.copies import manifest_path

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


def add_copy(sandboxes: Path, name: str, *, days_old: float, kb: int = 0) -> Path:
    copy = sandboxes / name
    copy.mkdir(parents=True)
    (copy / "data").write_bytes(b"x" * 1024 * kb)
    manifest_path(copy).write_text("{}")
    made = (NOW - timedelta(days=days_old)).timestamp()
    os.utime(manifest_path(copy), (made, made))
    return copy


def visible(sandboxes):
    return sorted(path.name for path in sandboxes.iterdir() if path.suffix != ".lock")


@pytest.fixture
def sandboxes(tmp_path):
    return tmp_path / ".aide/sandboxes"


def test_copies_beyond_their_days_go_with_their_manifests(sandboxes):
    for name, days_old in (("t1", 20), ("t2", 14.1), ("t3", 13.9), ("t4", 1)):
        add_copy(sandboxes, name, days_old=days_old)
    assert prune(sandboxes, keep_days=14, keep_mb=100, now=NOW) == ("t1", "t2")
    assert visible(sandboxes) == [".t3.json", ".t4.json", "t3", "t4"]


def test_the_oldest_go_until_the_rest_fits(sandboxes):
    for name, days_old, kb in (("t1", 4, 900), ("t2", 3, 10), ("t3", 2, 600), ("t4", 1, 500)):
        add_copy(sandboxes, name, days_old=days_old, kb=kb)
    assert prune(sandboxes, keep_days=14, keep_mb=2, now=NOW) == ()
    assert prune(sandboxes, keep_days=14, keep_mb=1, now=NOW) == ("t1", "t2", "t3")


def test_current_the_newest_and_what_is_in_use_stay(sandboxes):
    for name, days_old in (("t1", 90), ("t2", 80), ("t3", 70), ("t4", 60)):
        add_copy(sandboxes, name, days_old=days_old, kb=600)
    (sandboxes / "current").symlink_to("t2")
    with in_use(sandboxes / "t1"):
        assert prune(sandboxes, keep_days=1, keep_mb=1, now=NOW) == ("t3",)
    assert prune(sandboxes, keep_days=1, keep_mb=1, now=NOW) == ("t1",)
    assert visible(sandboxes) == [".t2.json", ".t4.json", "current", "t2", "t4"]


def test_a_copy_made_by_a_task_is_current_and_stays(project):
    make_copy(project, project / ".aide/sandboxes/t1")
    later = datetime.now(UTC) + timedelta(days=400)
    assert prune(project / ".aide/sandboxes", keep_days=14, keep_mb=0, now=later) == ()


def test_links_are_not_followed(sandboxes, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept.bin").write_bytes(b"x" * 3 * 2**20)
    copy = add_copy(sandboxes, "t1", days_old=3)
    (copy / "out").symlink_to(outside)
    add_copy(sandboxes, "t2", days_old=2)
    (sandboxes / "t0").symlink_to(outside)
    assert prune(sandboxes, keep_days=14, keep_mb=1, now=NOW) == ()
    assert prune(sandboxes, keep_days=1, keep_mb=1, now=NOW) == ("t1",)
    assert (outside / "kept.bin").exists()


def test_folders_that_a_check_closed_go_too(sandboxes):
    closed = add_copy(sandboxes, "t1", days_old=30) / "closed"
    (closed / "inner").mkdir(parents=True)
    (closed / "inner/file").write_text("f")
    add_copy(sandboxes, "t2", days_old=1)
    for folder in (closed / "inner", closed, closed.parent):
        folder.chmod(0)
    code = f"""
import pathlib, datetime
from cipher_nb.sandbox.scratch import prune
now = datetime.datetime.fromisoformat({NOW.isoformat()!r})
print(prune(pathlib.Path({str(sandboxes)!r}), keep_days=14, keep_mb=1, now=now))
"""
    as_somebody = ["unshare", "--user", "--map-user=1000", "--map-group=1000"] if os.geteuid() == 0 else []
    done = subprocess.run([*as_somebody, sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "('t1',)\n"
    assert visible(sandboxes) == [".t2.json", "t2"]


def test_what_a_killed_process_left_is_swept_up(sandboxes):
    add_copy(sandboxes, "t1", days_old=1)
    (sandboxes / ".gone.0a/deep").mkdir(parents=True)
    (sandboxes / ".current.0b").symlink_to("t1")
    for name in (".t0.json", ".t0.lock", ".t1.json.tmp"):
        (sandboxes / name).write_text("")
    assert prune(sandboxes, keep_days=14, keep_mb=1, now=NOW) == ()
    assert sorted(path.name for path in sandboxes.iterdir()) == [".sandboxes.lock", ".t1.json", "t1"]


def test_a_folder_that_cannot_be_arranged_is_a_sandbox_error(sandboxes):
    add_copy(sandboxes, "t1", days_old=30)
    (sandboxes / ".sandboxes.lock").mkdir()
    with pytest.raises(SandboxError, match="could not be removed"):
        prune(sandboxes, keep_days=14, keep_mb=1, now=NOW)


def test_there_may_be_nothing_to_prune(sandboxes):
    assert prune(sandboxes, keep_days=14, keep_mb=1, now=NOW) == ()
