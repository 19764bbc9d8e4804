"""Folders as nights leave them: every status, made with the real gate, changelog and results."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cipher_nb.adapters.changelog import Changelog
from cipher_nb.battery.families import CATEGORIES, sealed
from cipher_nb.battery.gate import compare
from cipher_nb.battery.results import Header, Results, Row, write_results
from cipher_nb.files import write_json
from cipher_nb.records import format_ts

BEGAN = datetime(2026, 11, 30, 2, 0, tzinfo=UTC)
ENDED = datetime(2026, 11, 30, 2, 7, 42, tzinfo=UTC)
PER_CATEGORY = 48
ADAPTER = "q8-4f1c09ab72de"
HOSTILE = "</title><script>alert(1)</script><img src=https://example.invalid/x onerror=alert(2)>\u202egnp.exe"


def right_before(category: str) -> int:
    return {"command registry": 11, "keybindings": 30, "settings": 41, "agent tools": 36}[category]


BETTER = {"command registry": 24, "keybindings": 1, "settings": 0, "agent tools": -1}
WORSE = {"command registry": 20, "keybindings": 0, "settings": -22, "agent tools": 0}


def collect(folder: Path, **changes: Any) -> None:
    part = {
        "since": "2026-11-29T02:00:00.000Z",
        "events": 61,
        "production": "base",
        "new_pairs": 12,
        "kept_pairs": 11,
        "practice_pairs": 96,
        "replay_pairs": 46,
        "total": 153,
        "dropped": [["pair-0a11", "duplicate of pair-09f3"], ["task-17", "no check of it passed"],
                    ["task-19", "no check of it passed"], ["pair-0b02", "holds a GitHub token"]],
        "weak": [{"category": "command registry", "score": 0.229, "pairs": 96}],
        "learned": ["[learned] prefers pathlib over os.path", "[learned] writes the test before the fix",
                    "[learned] names units in variables: timeout_s, max_bytes"],
        "learned_new": ["prefers pathlib over os.path"],
        "production_scores": {name: right_before(name) / PER_CATEGORY for name in CATEGORIES},
        "sufficient": True,
        "reason": "",
    }  # fmt: skip
    write_json(folder / "collect.json", {**part, **changes})


def train(folder: Path, losses: Sequence[float] | None = None) -> None:
    falling = [2.1 * 0.93**step + 0.3 + 0.12 * ((step * 7) % 5 - 2) / 2 for step in range(39)]
    settings = {"rank": 8, "alpha": 16, "lr": 5e-4, "epochs": 2, "batch_size": 8, "replay_share": 0.3,
                "seed": 0, "load_in_4bit": "auto"}  # fmt: skip
    part = {"steps": 39, "losses": falling if losses is None else list(losses), "tokens": 41_872, "seconds": 108.4,
            "quantised": False, "dropped_long": 1, "settings": settings}  # fmt: skip
    write_json(folder / "train.json", part)
    write_json(folder / "export.json", {"adapter": ADAPTER, "bytes": 4_915_712})


def battery(folder: Path, gained: dict[str, int], *, answer: str = "palette.open") -> None:
    """Write both sides' results and what the gate says of them; `gained` is right answers per category."""
    sides = {"production": dict.fromkeys(gained, 0), "candidate": gained}
    for side, extra in sides.items():
        header = Header.of(
            base="5f0c",
            adapter="base" if side == "production" else ADAPTER,
            battery_version="9be1",
            engine="xllamacpp 2026.11",
            settings={"battery": {"per_category": PER_CATEGORY, "seed": 1}},
        )
        rows = [row for name in gained for row in _rows(name, right_before(name) + extra[name], answer)]
        write_results(folder / f"{side}.jsonl", Results(header, tuple(rows)))
    part = {"production": "base", "candidate": ADAPTER, "production_results": "production.jsonl",
            "candidate_results": "candidate.jsonl", "samples": PER_CATEGORY * len(gained), "seconds": 96.0}  # fmt: skip
    write_json(folder / "battery.json", part)


def _rows(category: str, right: int, answer: str) -> list[Row]:
    samples = sealed(category, PER_CATEGORY, seed=1)
    return [
        Row(sample.id, category, sample.family, float(place < right), sample.target if place < right else answer)
        for place, sample in enumerate(samples)
    ]


def gate(folder: Path) -> dict[str, Any]:
    from cipher_nb.battery.results import read_results

    report = compare(read_results(folder / "production.jsonl"), read_results(folder / "candidate.jsonl")).to_json()
    write_json(folder / "gate.json", report)
    return report


def end(folder: Path, status: str, headline: str, reason: str = "") -> None:
    part = {"run_id": folder.name, "status": status, "headline": headline, "reason": reason,
            "started": format_ts(BEGAN), "finished": format_ts(ENDED), "workspace": "sample-app"}  # fmt: skip
    write_json(folder / "night.json", part)


def judged(
    folder: Path, gained: dict[str, int], status: str, reason: str, *, answer: str = "palette.open"
) -> Changelog:
    """Write a night that got to its end: staged or archived."""
    collect(folder)
    train(folder)
    battery(folder, gained, answer=answer)
    report = gate(folder)
    write_json(folder / "stage.json", {"adapter": ADAPTER, "status": status, "reason": reason})
    delta = report["rule"]["composite_delta"]
    changelog = Changelog(
        id=folder.name,
        created=format_ts(ENDED),
        adapter=ADAPTER,
        verdict=report["verdict"],
        patterns=("prefers pathlib over os.path",),
        pairs=12,
        composite_delta=delta,
        worst_delta=min(row["delta"] for row in report["rule"]["categories"]),
        report=f".aide/artifacts/nights/{folder.name}/report.html",
        status="pending" if status == "staged" else "archived",
    )
    write_json(folder / "changelog.json", changelog.to_json())
    fate = "staged, waiting for your decision" if status == "staged" else f"archived: {reason}"
    end(folder, status, f"{report['verdict']}: composite {delta:+.2f}; adapter {ADAPTER} {fate}")
    return changelog


def staged(folder: Path) -> Changelog:
    return judged(folder, BETTER, "staged", "")


def archived(folder: Path) -> Changelog:
    return judged(folder, WORSE, "archived", "the rule failed: category below -0.05: settings -0.458")


def nothing(folder: Path) -> None:
    reason = "2 new pairs, 8 are needed, and no category failed"
    collect(
        folder,
        new_pairs=2,
        kept_pairs=0,
        practice_pairs=0,
        replay_pairs=0,
        total=0,
        weak=[],
        sufficient=False,
        reason=reason,
    )
    end(folder, "nothing", f"Nothing to learn: {reason}", reason)


def stopped(folder: Path) -> None:
    collect(folder)
    reason = "the operator came back during training; the next night trains again"
    end(folder, "stopped", f"Stopped: {reason}", reason)


def failed(folder: Path) -> None:
    collect(folder)
    train(folder)
    reason = "30_battery.ipynb: EngineStartError: the server did not start: address already in use"
    end(folder, "failed", f"COULD_NOT_RUN: {reason}", reason)


def died(folder: Path) -> None:
    collect(folder)
    (folder / "train.json").write_bytes(b'{"steps": 3, "los')
