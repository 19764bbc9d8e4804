"""The registry's states, as files."""

from __future__ import annotations

from pathlib import Path

import pytest

from cipher_nb.adapters.registry import Registry, State
from cipher_nb.engine.swap import Canary
from cipher_nb.errors import CipherError, DecisionError, NotFoundError


@pytest.fixture
def registry(tmp_path: Path) -> Registry:
    registry = Registry(tmp_path / "adapters")
    for name in ("a1", "b2"):
        (tmp_path / f"{name}.gguf").write_bytes(f"GGUF {name}".encode())
        registry.add(name, tmp_path / f"{name}.gguf", manifest={"adapter": name})
    return registry


def test_a_new_workspace_serves_the_base(tmp_path: Path) -> None:
    assert Registry(tmp_path / "none").state() == State(production="base", previous="base", staged="", archived={})


def test_promoting_and_rolling_back_walk_the_same_way(registry: Registry) -> None:
    registry.stage("a1")
    assert registry.promote("a1") == State(production="a1", previous="base", held=("base", "a1"))
    registry.stage("b2")
    assert registry.promote("b2") == State(production="b2", previous="a1", held=("base", "a1", "b2"))
    assert registry.restore_previous().production == "a1"
    assert registry.state() == State("a1", "base", "", {"b2": "rolled back to a1"}, held=("base", "a1", "b2"))


def test_a_registry_from_before_production_was_remembered_is_read(tmp_path: Path) -> None:
    (tmp_path / "registry.json").write_text('{"production": "a1", "previous": "base", "staged": "", "archived": {}}')
    assert Registry(tmp_path).state() == State(production="a1")


def test_a_server_needs_production_previous_and_staged(registry: Registry) -> None:
    registry.stage("a1")
    registry.promote("a1")
    registry.stage("b2")
    assert [path.parent.name for path in registry.needed()] == ["a1", "b2"]


def test_staging_another_archives_the_one_before_as_superseded(registry: Registry) -> None:
    registry.stage("a1")
    assert registry.stage("b2") == State("base", "base", "b2", {"a1": "superseded by b2"})


def test_staging_again_takes_an_adapter_out_of_the_archive(registry: Registry) -> None:
    registry.archive("a1", reason="the rule failed")
    assert registry.stage("a1") == State(staged="a1")


def test_an_adapter_file_is_never_overwritten(registry: Registry, tmp_path: Path) -> None:
    (tmp_path / "other.gguf").write_bytes(b"GGUF other")
    path = registry.add("a1", tmp_path / "other.gguf", manifest={"adapter": "forged"})
    assert path.read_bytes() == b"GGUF a1"
    assert registry.manifest("a1") == {"adapter": "a1"}


def test_only_the_staged_adapter_can_be_promoted(registry: Registry) -> None:
    with pytest.raises(DecisionError, match=r"adapter a1 is not staged \(staged: none\)"):
        registry.promote("a1")
    assert registry.state() == State()


@pytest.mark.parametrize("name", ["zz", "", "../a1"])
def test_an_unknown_adapter_is_refused_by_name(registry: Registry, name: str) -> None:
    with pytest.raises(NotFoundError, match="does not exist"):
        registry.stage(name)


def test_names_are_resolved_to_ids(registry: Registry) -> None:
    registry.stage("a1")
    assert [registry.resolve(name) for name in ("base", "production", "staged", "b2")] == ["base", "base", "a1", "b2"]


def test_a_torn_registry_is_an_error_that_names_the_file(registry: Registry) -> None:
    (registry.folder / "registry.json").write_text('{"production": "a')
    with pytest.raises(CipherError, match=r"registry\.json is not valid JSON"):
        registry.state()


def test_the_canary_comes_back_as_it_was_recorded(registry: Registry) -> None:
    canary = Canary(messages=({"role": "user", "content": "hi"},), answers={"base": "x", "a1": "y"}, max_tokens=8)
    registry.set_canary("a1", canary)
    assert registry.canary("a1") == canary
    assert registry.canary("b2") is None
