"""The registry's states, as files."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

import pytest

from cipher_nb.adapters.registry import Registry
from cipher_nb.adapters.state import Mark, State
from cipher_nb.engine.swap import Canary
from cipher_nb.errors import DecisionError, NotFoundError, RegistryError
from cipher_nb.testing import MovableClock

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
AT = "2026-11-30T12:00:00.000Z"


@pytest.fixture
def registry(tmp_path: Path) -> Registry:
    registry = Registry(tmp_path / "adapters", clock=MovableClock(NOON))
    for name in ("a1", "b2", "c3"):
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
    assert registry.restore("a1").production == "a1"
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


def promoted(registry: Registry, *adapters: str) -> None:
    for adapter in adapters:
        registry.stage(adapter)
        registry.promote(adapter)


def test_the_manifest_says_which_bytes_came_in_and_when(registry: Registry) -> None:
    digest = sha256(b"GGUF a1").hexdigest()
    assert registry.manifest("a1") == {"adapter": "a1", "sha256": digest, "made": AT}


def test_the_same_bytes_may_come_again_and_the_first_manifest_stays(registry: Registry, tmp_path: Path) -> None:
    path = registry.add("a1", tmp_path / "a1.gguf", manifest={"adapter": "forged"})
    assert path == tmp_path / "adapters/a1/adapter.gguf"
    assert registry.manifest("a1")["adapter"] == "a1"


def test_other_bytes_under_a_known_id_are_refused_with_both_hashes(registry: Registry, tmp_path: Path) -> None:
    (tmp_path / "other.gguf").write_bytes(b"GGUF other")
    ours, other = sha256(b"GGUF a1").hexdigest()[:16], sha256(b"GGUF other").hexdigest()[:16]
    with pytest.raises(RegistryError, match=f"adapter a1: .* has sha256 {ours}, by .*other.gguf it is {other}; move "):
        registry.add("a1", tmp_path / "other.gguf", manifest={})
    assert registry.path("a1").read_bytes() == b"GGUF a1"


def test_a_file_that_changed_since_it_came_in_is_not_staged(registry: Registry) -> None:
    registry.path("a1").write_bytes(b"GGUF a")
    with pytest.raises(RegistryError, match=r"adapter a1: .*by .*manifest\.json it is"):
        registry.stage("a1")
    assert registry.state() == State()


@pytest.mark.parametrize("lost", ["adapter.gguf", "manifest.json"])
def test_half_an_adapter_is_none_and_can_be_added_again(registry: Registry, tmp_path: Path, lost: str) -> None:
    (registry.folder / "a1" / lost).unlink()
    with pytest.raises(NotFoundError, match="adapter 'a1' does not exist"):
        registry.path("a1")
    registry.add("a1", tmp_path / "a1.gguf", manifest={"adapter": "a1"})
    registry.verify("a1")


def test_a_disk_that_takes_no_more_is_named_and_nothing_is_left(registry: Registry, tmp_path: Path) -> None:
    big = tmp_path / "big.gguf"
    big.write_bytes(bytes(10_000))
    before = sorted(registry.folder.rglob("*"))
    code = (
        "import sys; from pathlib import Path; from cipher_nb.adapters.registry import Registry\n"
        "try: Registry(Path(sys.argv[1])).add('d4', Path(sys.argv[2]), manifest={})\n"
        "except Exception as error: print(type(error).__name__, error)"
    )
    limited = ["bash", "-c", 'ulimit -f 4; exec "$@"', "bash", sys.executable, "-c", code, registry.folder, big]
    done = subprocess.run(list(map(str, limited)), capture_output=True, text=True, check=True)
    assert done.stdout == (
        f"RegistryError adapter d4 (10000 bytes) could not be written to {registry.folder}/d4 (File too large); "
        "free some space there and run: cipher-nb night\n"
    )
    assert [path for path in sorted(registry.folder.rglob("*")) if path.name != ".d4.lock"] == before


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


def test_rollback_can_go_back_as_far_as_there_was_production(registry: Registry) -> None:
    promoted(registry, "a1", "b2", "c3")
    assert registry.restore("b2").previous == "a1"
    assert registry.restore("a1").previous == "base"
    assert registry.state().archived == {"c3": "rolled back to b2", "b2": "rolled back to a1"}


def test_a_marked_production_makes_way_for_the_newest_that_is_not_marked(registry: Registry) -> None:
    promoted(registry, "a1", "b2", "c3")
    assert registry.ways_back() == ("b2", "a1", "base")
    registry.mark({"c3": Mark(AT, 2), "b2": Mark(AT, 1)})
    assert registry.ways_back() == ("a1", "base")
    assert [path.parent.name for path in registry.needed()] == ["c3", "a1"]
    registry.archive("a1", reason="bad")
    assert registry.ways_back() == ("base",)


def test_an_unmarked_production_may_return_to_a_marked_one_before_it_and_to_no_other(registry: Registry) -> None:
    promoted(registry, "a1", "b2", "c3")
    registry.mark({"a1": Mark(AT, 1), "b2": Mark(AT, 1)})
    assert registry.ways_back() == ("b2", "base")


def test_what_lost_its_files_is_no_way_back(registry: Registry) -> None:
    promoted(registry, "a1", "b2", "c3")
    (registry.folder / "b2/adapter.gguf").unlink()
    assert registry.ways_back() == ("a1", "base")
    assert [path.parent.name for path in registry.needed()] == ["c3", "a1"]


def test_a_mark_stays_through_every_change_and_says_when_and_how_much(registry: Registry) -> None:
    registry.mark({"a1": Mark(AT, 2), "b2": Mark(AT, None)})
    promoted(registry, "a1", "b2")
    state = registry.restore("a1")
    assert state.why_marked("a1") == "trained on 2 pairs purged at 2026-11-30T12:00:00.000Z"
    assert state.warning("a1") == (
        "trained on 2 pairs purged at 2026-11-30T12:00:00.000Z; serve the one before with: cipher-nb rollback"
    )
    assert state.why_marked("b2") == (
        "perhaps trained on what was purged at 2026-11-30T12:00:00.000Z, since its manifest is unreadable"
    )
    assert state.why_marked("c3") == ""


def test_roles(registry: Registry) -> None:
    promoted(registry, "a1", "b2", "c3")
    registry.archive("d4", reason="bad")
    state = registry.state()
    assert {name: state.role(name) for name in ("a1", "b2", "c3", "d4", "e5")} == {
        "a1": "former",
        "b2": "previous",
        "c3": "production",
        "d4": "archived",
        "e5": "candidate",
    }


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"production": "a', "is not valid JSON"),
        ("", "is not valid JSON"),
        ("null", "it names no production"),
        ('{"adapters": 1}', "it names no production"),
        ('{"production": ""}', "it names no production"),
        ('{"production": "a1", "archived": ["b2"]}', "archived is ['b2']"),
        ('{"production": "a1", "marked": {"a1": {"at": "now"}}}', "the mark of a1 is {'at': 'now'}"),
    ],
)
def test_a_damaged_registry_is_an_error_with_the_way_out_and_never_the_base(
    registry: Registry, text: str, words: str
) -> None:
    path = registry.folder / "registry.json"
    path.write_text(text)
    for use in (registry.state, lambda: registry.stage("a1"), lambda: registry.mark({})):
        with pytest.raises(RegistryError) as error:
            use()
        assert str(error.value).startswith(f"{path} is ")
        assert words in str(error.value)
        assert str(error.value).endswith("or move it away: the base is served then, and the next night stages anew")
    assert path.read_text() == text


def test_what_a_newer_version_wrote_is_kept(registry: Registry) -> None:
    path = registry.folder / "registry.json"
    path.write_text('{"production": "a1", "canary_of": {"a1": 7}}')
    registry.stage("b2")
    assert json.loads(path.read_text()) == {
        "production": "a1",
        "previous": "base",
        "staged": "b2",
        "archived": {},
        "held": [],
        "marked": {},
        "canary_of": {"a1": 7},
    }


def test_the_canary_comes_back_as_it_was_recorded(registry: Registry) -> None:
    canary = Canary(messages=({"role": "user", "content": "hi"},), answers={"base": "x", "a1": "y"}, max_tokens=8)
    registry.set_canary("a1", canary)
    assert registry.canary("a1") == canary
    assert registry.canary("b2") is None
