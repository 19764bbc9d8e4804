"""The gate's two halves in words, kept apart: what the rule says, and what the evidence says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cipher_nb.report.deltas import category_rows, composite, deltas
from cipher_nb.report.facts import Fact
from cipher_nb.report.plain import plain, score, sentence, signed
from cipher_nb.report.story import TONES
from cipher_nb.report.view import NightView, Part, number, section, text


@dataclass(frozen=True)
class Half:
    """One half of the gate: its word, what it says, and the figures behind it."""

    word: str
    tone: str
    sentence: str
    facts: Sequence[Fact]


@dataclass(frozen=True)
class Judged:
    """Rule and evidence. The verdict is the evidence's; the rule stands beside it."""

    rule: Half
    evidence: Half


def judged(view: NightView) -> Judged | None:
    """Return what the gate says, or None when the night did not get to it."""
    return Judged(_rule(view), _evidence(view)) if view.gate is not None else None


def _rule(view: NightView) -> Half:
    rule = section(view.gate, "rule")
    passed = rule.get("passed") is True
    whole, rows = composite(view), [row for row in deltas(view) if row.delta is not None]
    facts = []
    if whole:
        facts.append(("Composite", f"{score(whole.production)} → {score(whole.candidate)} ({signed(whole.delta)})"))
    if rows:
        facts.append(("Worst category", f"{plain(rows[0].category, 60)} {signed(rows[0].delta)}"))
    facts += [(f"Against {plain(name, 40)}", _passed(part)) for name, part in section(view.gate, "anchors").items()]
    word, tone = ("passed", "good") if passed else ("failed", "bad")
    return Half(word, tone, sentence(text(rule, "reason")), facts)


def _passed(rule: object) -> str:
    if not isinstance(rule, dict):
        return "–"
    return "passed" if rule.get("passed") is True else f"failed: {plain(text(rule, 'reason'), 200)}"


def _evidence(view: NightView) -> Half:
    rows = category_rows(section(view.gate, "evidence"))
    whole = composite(view)
    facts = []
    if rows:
        facts.append(("Samples that changed", f"{_sum(rows, 'gains'):,} better, {_sum(rows, 'losses'):,} worse"))
    if whole and whole.lower_bound is not None:
        facts.append(("True composite gain, at least", f"{signed(whole.lower_bound)} (95 %)"))
    drops = [number(row, "detectable_drop") for row in rows]
    if rows and None not in drops:
        facts.append(("Smallest drop it could see", f"{max(drop for drop in drops if drop is not None):.2f}"))
    verdict = plain(view.verdict, 40)
    return Half(verdict, TONES.get(verdict, ""), sentence(text(view.gate, "reason")), facts)


def _sum(rows: Sequence[Part], key: str) -> int:
    return int(sum(number(row, key) or 0 for row in rows))
