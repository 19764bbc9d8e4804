"""Whatever happens to the project and to the copy in between: the next copy is what a fresh one would be."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test

from cipher_nb.sandbox.scratch import make_copy
from tests.sandbox.conftest import git

NAMES = ("a", "A", "b.log", "d/a", "d/e/a", "d/e/b", "f/ü\n")
names = st.sampled_from(NAMES)
texts = st.sampled_from(("", "one", "first", "FIRST"))
targets = st.sampled_from(("a", "d", "f", "../a", "/etc/hostname", "nowhere"))


def snapshot(folder: Path) -> dict[str, tuple[object, ...]]:
    return dict(_entries(folder))


def _entries(folder: Path) -> Iterator[tuple[str, tuple[object, ...]]]:
    for path in folder.rglob("*"):
        found, name = path.lstat(), str(path.relative_to(folder))
        if stat.S_ISLNK(found.st_mode):
            yield name, ("link", path.readlink())
        elif stat.S_ISDIR(found.st_mode):
            yield name, ("folder", found.st_mode)
        else:
            yield name, ("file", found.st_mode, found.st_mtime_ns, path.read_bytes())


def told_by_git(root: Path) -> dict[str, bytes]:
    listed = subprocess.run(
        ["git", "ls-files", "-zco", "--exclude-standard"], cwd=root, capture_output=True, check=True
    ).stdout
    found = {os.fsdecode(name): root / os.fsdecode(name) for name in listed.split(b"\0") if name}
    return {name: path.read_bytes() for name, path in found.items() if path.is_file() and path.resolve() == path}


class Copying(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.above = Path(tempfile.mkdtemp(prefix="cipher-")).resolve()
        self.root, self.sandboxes = self.above / "project", self.above / "project/.aide/sandboxes"
        self.root.mkdir()
        git(self.root, "init", "--quiet")
        (self.root / ".gitignore").write_text(".aide/\n")
        for name in NAMES:
            self.clear(self.root, name).write_text("first")
        self.task = 0
        self.copy()

    def teardown(self) -> None:
        shutil.rmtree(self.above)

    def places(self) -> list[Path]:
        return [self.root, self.sandboxes / f"t{self.task}"]

    def clear(self, where: Path, name: str) -> Path:
        path = where / name
        for parent in reversed(path.relative_to(where).parents[:-1]):
            if (where / parent).is_symlink() or (where / parent).is_file():
                (where / parent).unlink()
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        path.unlink(missing_ok=True)
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    @rule(name=names, text=texts, side=st.integers(0, 1))
    def make_anew(self, name: str, text: str, side: int) -> None:
        self.clear(self.places()[side], name).write_text(text)

    @rule(name=names, text=texts, side=st.integers(0, 1), keep_time=st.booleans())
    def write_over(self, name: str, text: str, side: int, keep_time: bool) -> None:
        path = self.places()[side] / name
        if path.is_file() and not path.is_symlink():
            before = path.stat()
            path.write_text(text)
            if keep_time:
                os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

    @rule(name=names, side=st.integers(0, 1))
    def delete(self, name: str, side: int) -> None:
        self.clear(self.places()[side], name)

    @rule(name=names, to=names, side=st.integers(0, 1))
    def rename(self, name: str, to: str, side: int) -> None:
        where = self.places()[side]
        if name != to and (where / name).is_file():
            (where / name).rename(self.clear(where, to))

    @rule(name=names, mode=st.sampled_from((0o600, 0o644, 0o755)), side=st.integers(0, 1))
    def chmod(self, name: str, mode: int, side: int) -> None:
        path = self.places()[side] / name
        if path.exists() and not path.is_symlink():
            path.chmod(mode)

    @rule(folder=st.sampled_from(("d", "d/e", "f")), mode=st.sampled_from((0o700, 0o755)), side=st.integers(0, 1))
    def chmod_folder(self, folder: str, mode: int, side: int) -> None:
        path = self.places()[side] / folder
        if path.is_dir() and not path.is_symlink():
            path.chmod(mode)

    @rule(name=names | st.sampled_from(("d", "f")), text=targets, side=st.integers(0, 1))
    def link(self, name: str, text: str, side: int) -> None:
        self.clear(self.places()[side], name).symlink_to(text)

    @rule(name=names, to=names)
    def hard_link_into_the_copy(self, name: str, to: str) -> None:
        real, copy = self.places()
        if (real / name).is_file() and not (real / name).is_symlink():
            self.clear(copy, to).hardlink_to(real / name)

    @rule(name=names)
    def commit(self, name: str) -> None:
        git(self.root, "add", "--all")

    @rule(ignored=st.sampled_from(("", "*.log\n", "d/\n", "a\n")))
    def ignore(self, ignored: str) -> None:
        (self.root / ".gitignore").write_text(f".aide/\n{ignored}")

    @rule()
    def next_task(self) -> None:
        self.task += 1
        self.copy()

    @rule(young=st.booleans())
    def copy(self, young: bool = False) -> None:
        if not young:
            time.sleep(0.01)  # a file younger than the clock's tick is copied in any case
        before = snapshot_of_project(self.root)
        real, copy = self.places()
        listing = make_copy(real, copy)
        make_copy(real, self.above / "fresh/t")
        made, fresh = snapshot(copy), snapshot(self.above / "fresh/t")
        shutil.rmtree(self.above / "fresh")
        assert made == fresh
        assert {name: entry[3] for name, entry in made.items() if entry[0] == "file"} == told_by_git(real)
        assert sorted(name for name, entry in made.items() if entry[0] != "folder") == list(listing.paths)
        assert snapshot_of_project(self.root) == before


def snapshot_of_project(root: Path) -> dict[str, tuple[object, ...]]:
    return {name: entry for name, entry in snapshot(root).items() if name.split("/")[0] not in (".git", ".aide")}


@pytest.mark.slow
def test_a_copy_is_always_what_a_fresh_one_would_be():
    run_state_machine_as_test(
        Copying,
        settings=settings(
            max_examples=30,
            stateful_step_count=25,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
