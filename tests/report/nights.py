"""Folders as nights leave them: every status, made with the real gate, changelog and results."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cipher_nb.adapters.changelog import Changelog
from cipher_nb.battery.families import sealed
from cipher_nb.battery.gate import compare
from cipher_nb.battery.results import Header, Results, Row, read_results, write_results
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
        "production_scores": {name: right_before(name) / PER_CATEGORY for name in BETTER},
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
    """Write what the gate said before it had words, upper bounds and guards."""
    report = compare(read_results(folder / "production.jsonl"), read_results(folder / "candidate.jsonl")).to_json()
    report = {key: report[key] for key in ("rule", "evidence", "verdict", "reason", "anchors")}
    for row in report["evidence"]["categories"]:
        row.pop("word", None), row.pop("upper", None)
    report["evidence"]["composite"].pop("upper", None)
    write_json(folder / "gate.json", report)
    return report


def gate_with_words(folder: Path, **guards: Any) -> dict[str, Any]:
    """Write what the gate says now: a word and both bounds for each category, and `guards` (drift, must_pass, …).

    The bounds are plain round figures, so that a test can name them: the delta and 0.9 over the root of n.
    """
    report = {**gate(folder), **guards}
    for row in report["evidence"]["categories"]:
        delta, spread = row["delta"], 0.9 / row["n"] ** 0.5
        worse, lower = delta <= -0.05 and delta + spread < 0, delta - spread
        word = "better" if lower > 0 else "worse" if worse else "not worse" if lower > -0.05 else "open"
        row.update(lower=lower, upper=delta + spread, word=word)
    composite = report["rule"]["composite_delta"]
    report["evidence"]["composite"] = {"delta": composite, "lower": composite - 0.03, "upper": composite + 0.03}
    report.update(verdict="REGRESSION", reason="worse than chance explains: training gate -0.312 (p = 2e-06)")
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
    reason = "the operator came back during training; the next night goes on after step 12"
    end(folder, "stopped", f"Stopped: {reason}", reason)


def failed(folder: Path) -> None:
    collect(folder)
    train(folder)
    reason = "30_battery.ipynb: EngineStartError: the server did not start: address already in use"
    end(folder, "failed", f"COULD_NOT_RUN: {reason}", reason)


def died(folder: Path) -> None:
    collect(folder)
    (folder / "train.json").write_bytes(b'{"steps": 3, "los')


WIDE = {
    "agent loop": (96, 40, 58), "agent tools": (96, 70, 60), "agent policy": (64, 41, 43),
    "agent contracts": (96, 51, 52), "byok": (128, 90, 83),
    "command registry": (96, 22, 49), "keybindings": (64, 40, 41), "settings": (32, 27, 29),
    "lsp/dap routes": (256, 130, 132), "training gate": (96, 66, 36), "exports": (64, 33, 39), "handoff": (96, 47, 51),
    "memory": (96, 64, 64), "orchestrator": (96, 39, 40), "workbench": (96, 55, 61), "plugin manager": (96, 60, 59),
    "math": (192, 48, 75), "reasoning": (96, 35, 34), "code": (48, 12, 14), "house style (own)": (9, 7, 6),
}  # fmt: skip
"""Samples, right answers before and after: the battery's categories, and one of the operator's own."""

GUARDS: dict[str, Any] = {
    "must_pass": {"asked": 14, "lost": []},
    "drift": {"nats_per_token": 0.084, "budget": 0.5, "passed": True},
    "leaked": [
        {"sample": "exports-3b1c09d2aa51", "category": "exports", "words": "write the table to a csv file of its own"}
    ],
    "spent": {"asked": 1909, "planned": 4873, "seconds": 412.5,
              "looks": [{"n": 32, "open": 17}, {"n": 64, "open": 11}, {"n": 96, "open": 4}, {"n": 256, "open": 2}]},
    "practice": {"command registry": {"sealed": 0.51, "practice": 0.58, "n": 96},
                 "math": {"sealed": 0.39, "practice": 0.72, "n": 96}},
}  # fmt: skip


def wide(folder: Path, sizes: dict[str, tuple[int, int, int]] = WIDE, **guards: Any) -> dict[str, Any]:
    """Write a whole archived night over many categories, with the gate's words and guards."""
    judged(folder, BETTER, "archived", "REGRESSION: worse than chance explains: training gate -0.312")
    for side in ("production", "candidate"):
        known = read_results(folder / f"{side}.jsonl").header
        rows = [row for name, counts in sizes.items() for row in _wide_rows(name, counts, side)]
        write_results(folder / f"{side}.jsonl", Results(known, tuple(rows)))
    part = {"results": {side: f"{side}.jsonl" for side in ("production", "candidate")}, "production": "base",
            "asked": {"per_category": 256, "seed": 1}, "samples": 1913, "seconds": 412.5}  # fmt: skip
    write_json(folder / "battery.json", part)
    report = gate_with_words(folder, **{**GUARDS, **guards})
    end(folder, "archived", f"{report['verdict']}: composite {report['rule']['composite_delta']:+.2f}; archived")
    return report


def _wide_rows(category: str, counts: tuple[int, int, int], side: str) -> list[Row]:
    n, before, after = counts
    right = after if side == "candidate" else before
    shift = 3 if side == "candidate" else 0
    samples = sealed(category, n, seed=1) if category in BETTER else []
    ids = [(sample.id, sample.family, sample.target) for sample in samples] or [
        (f"{category}-{place:03}", ("first", "second", "third", "fourth")[place % 4], "") for place in range(n)
    ]
    rows = []
    for place, (name, family, target) in enumerate(ids):
        scored = float((place + shift) % n < right)
        told = target or f"the {category} answer is number {place}"
        wrong = f"{told[:-1]}s, said {side}" if place % 3 else "I am not sure; as an assistant I would ask first."
        rows.append(Row(name, category, family, scored, told if scored else wrong))
    return rows
