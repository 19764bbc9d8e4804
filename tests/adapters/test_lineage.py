"""Where adapters come from, told from their manifests and nights, whatever became of those."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from cipher_nb.adapters.lineage import lineage
from cipher_nb.adapters.registry import Registry
from cipher_nb.adapters.state import Mark
from cipher_nb.files import write_json
from cipher_nb.testing import MovableClock

NIGHT = datetime(2026, 11, 28, 2, 10, tzinfo=UTC)
MARK = Mark("2026-11-30T12:00:00.000Z", 1)


@pytest.fixture
def nights(tmp_path: Path) -> Path:
    return tmp_path / "nights"


@pytest.fixture
def registry(tmp_path: Path, nights: Path) -> Registry:
    """a1 once was production, b2 is and is marked, c3 was archived; each from a night of its own."""
    clock = MovableClock(NIGHT)
    registry = Registry(tmp_path / "adapters", clock=clock)
    for day, (name, verdict, delta) in enumerate(
        [("a1", "PROVEN", 0.1), ("b2", "INCONCLUSIVE", 0.02), ("c3", "REGRESSION", -0.2)]
    ):
        clock.set(NIGHT + timedelta(days=day))
        (tmp_path / "made.gguf").write_bytes(name.encode() * 50)
        sources = ["approved"] * 3 + ["practice:settings", "practice:memory"] + ["replay"] * (2 + day)
        manifest = {
            "adapter": name,
            "base": {"name": "model.gguf", "sha256": "0123456789abcdef"},
            "pairs": [{"id": "p", "source": source, "task": "", "event_ids": []} for source in sources],
            "losses": [2.5, 0.5 + day],
            "night": f"2026-11-{28 + day}-0210",
        }
        registry.add(name, tmp_path / "made.gguf", manifest=manifest)
        gate = {"verdict": verdict, "rule": {"composite_delta": delta}}
        write_json(nights / manifest["night"] / "gate.json", gate)
    for name in ("a1", "b2"):
        registry.stage(name)
        registry.promote(name)
    registry.archive("c3", reason="REGRESSION: settings fell")
    registry.mark({"b2": MARK})
    return registry


def test_a_row_tells_role_night_base_pairs_loss_verdict_and_mark(registry: Registry, nights: Path) -> None:
    rows = {row.adapter: row.to_json() for row in lineage(registry, nights=nights)}
    assert rows["b2"] == {
        "adapter": "b2",
        "role": "production",
        "reason": "",
        "night": "2026-11-29-0210",
        "made": "2026-11-29T02:10:00.000Z",
        "base": "01234567",
        "pairs": {"approved": 3, "practice": 2, "replay": 3},
        "loss": 1.5,
        "verdict": "INCONCLUSIVE",
        "composite_delta": 0.02,
        "bytes": sum(path.stat().st_size for path in (registry.folder / "b2").iterdir()),
        "marked": {"at": "2026-11-30T12:00:00.000Z", "pairs": 1},
        "problem": "",
    }
    assert (rows["c3"]["role"], rows["c3"]["reason"]) == ("archived", "REGRESSION: settings fell")
    assert rows["a1"]["role"] == "previous"


def test_the_newest_comes_first(registry: Registry, nights: Path) -> None:
    assert [row.adapter for row in lineage(registry, nights=nights)] == ["c3", "b2", "a1"]


def test_a_workspace_without_adapters_has_no_lineage(tmp_path: Path) -> None:
    assert lineage(Registry(tmp_path / "none"), nights=tmp_path) == []


def test_what_is_missing_or_broken_is_told_in_its_row(registry: Registry, nights: Path) -> None:
    registry.archive("d4", reason="never there")
    (registry.folder / "a1/manifest.json").write_text("{")
    (registry.folder / "b2/adapter.gguf").unlink()
    write_json(
        registry.folder / "c3/manifest.json", {"pairs": [3, {}], "losses": "none", "base": None, "night": "../x"}
    )
    rows = {row.adapter: row for row in lineage(registry, nights=nights)}
    assert "a1/manifest.json is not valid JSON" in rows["a1"].problem
    assert rows["b2"].problem == "adapter 'b2' does not exist; see: cipher-nb adapters"
    assert (rows["c3"].problem, rows["c3"].base, rows["c3"].loss, rows["c3"].verdict) == ("", "", None, "")
    assert "has no manifest" in rows["d4"].problem
    assert (rows["d4"].made, rows["d4"].bytes, rows["d4"].reason) == ("", 0, "never there")


def test_an_adapter_whose_night_is_gone_has_no_verdict(registry: Registry, tmp_path: Path) -> None:
    rows = lineage(registry, nights=tmp_path / "gone")
    assert {row.verdict for row in rows} == {""}
    assert {row.night for row in rows} == {"2026-11-28-0210", "2026-11-29-0210", "2026-11-30-0210"}
