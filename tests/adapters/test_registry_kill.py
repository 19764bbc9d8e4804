"""kill -9 at any point of a change of the registry: it is as before or as after, and the change can be made again."""

from __future__ import annotations

import multiprocessing
import random
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from cipher_nb.adapters.registry import Registry
from cipher_nb.adapters.state import Mark, State
from tests.sandbox.applying import die_at

FORK = multiprocessing.get_context("fork")
CONTENT = {name: f"GGUF {name}".encode() * 100_000 for name in ("a1", "b2", "c3")}
MARK = Mark("2026-11-30T12:00:00.000Z", 2)


def add(registry: Registry, name: str) -> None:
    registry.add(name, registry.folder.parent / f"{name}.gguf", manifest={"adapter": name})


CHANGES: dict[str, Callable[[Registry], object]] = {
    "add": lambda registry: add(registry, "c3"),
    "stage": lambda registry: registry.stage("c3"),
    "promote": lambda registry: registry.promote("b2"),
    "restore": lambda registry: registry.restore("base"),
    "archive": lambda registry: registry.archive("b2", reason="the rule failed"),
    "mark": lambda registry: registry.mark({"a1": MARK}),
}


@pytest.fixture
def pristine(tmp_path: Path) -> Path:
    """A folder with a registry: a1 is production, b2 is staged, c3 is a file beside it."""
    for name, content in CONTENT.items():
        (tmp_path / f"pristine/{name}.gguf").parent.mkdir(exist_ok=True)
        (tmp_path / f"pristine/{name}.gguf").write_bytes(content)
    registry = Registry(tmp_path / "pristine/adapters")
    for name in ("a1", "b2"):
        add(registry, name)
        registry.stage(name)
        if name == "a1":
            registry.promote(name)
    return tmp_path / "pristine"


def fresh(pristine: Path, *, with_c3: bool) -> Registry:
    shutil.rmtree(pristine.parent / "now", ignore_errors=True)
    registry = Registry(Path(shutil.copytree(pristine, pristine.parent / "now")) / "adapters")
    if with_c3:
        add(registry, "c3")
    return registry


def what_is_there(registry: Registry) -> tuple[State, list[str]]:
    """Return the state and the adapters, every one of which is whole."""
    for name in registry.ids():
        registry.verify(name)
        assert registry.path(name).read_bytes() == CONTENT[name]
        assert registry.manifest(name)["adapter"] == name
    return registry.state(), registry.ids()


def killed_at(number: int, change: Callable[[Registry], object], registry: Registry) -> bool:
    """Make the change in a process that is killed in front of its Nth change of the disk; tell whether it was."""

    def work() -> None:
        die_at(number)
        change(registry)

    process = FORK.Process(target=work)
    process.start()
    process.join()
    assert process.exitcode in (0, -signal.SIGKILL)
    return process.exitcode != 0


@pytest.mark.parametrize("name", CHANGES)
def test_killed_in_front_of_any_change_of_the_disk_it_is_as_before_or_as_after(pristine: Path, name: str) -> None:
    change, with_c3 = CHANGES[name], name != "add"
    registry = fresh(pristine, with_c3=with_c3)
    before = what_is_there(registry)
    change(registry)
    after = what_is_there(registry)
    assert before != after
    number, ends = 1, []
    while killed_at(number, change, registry := fresh(pristine, with_c3=with_c3)):
        ends.append(what_is_there(registry))
        assert ends[-1] in (before, after)
        if ends[-1] == before:
            change(registry)
            assert what_is_there(registry) == after
        number += 1
    assert before in ends
    assert number >= (6 if name == "add" else 3)


@pytest.mark.slow
def test_killed_at_any_moment_while_files_come_in_every_adapter_is_whole_and_can_come_again(pristine: Path) -> None:
    registry, chance, ends = fresh(pristine, with_c3=False), random.Random(5), set()
    started = time.monotonic()
    assert not killed_at(0, CHANGES["add"], registry)
    duration = time.monotonic() - started
    for _ in range(40):
        shutil.rmtree(registry.folder / "c3", ignore_errors=True)
        process = FORK.Process(target=CHANGES["add"], args=(registry,))
        started = time.monotonic()
        process.start()
        time.sleep(chance.random() * 2 * duration)
        process.kill()
        process.join()
        if process.exitcode:  # it was not done yet, and may be slower by now
            duration = max(duration, time.monotonic() - started)
        ends.add(tuple(what_is_there(registry)[1]))
    add(registry, "c3")
    assert what_is_there(registry)[1] == ["a1", "b2", "c3"]
    assert ends == {("a1", "b2"), ("a1", "b2", "c3")}
    assert list(registry.folder.glob(".*.tmp")) == []
