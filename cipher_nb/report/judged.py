"""What the gate says in words, kept apart: the rule, the evidence, and the guards beside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cipher_nb.report.deltas import category_rows, composite, deltas
from cipher_nb.report.facts import Fact
from cipher_nb.report.guards import cost_facts, guard_facts
from cipher_nb.report.plain import plain, score, sentence, signed
from cipher_nb.report.story import TONES
from cipher_nb.report.tables import Table
from cipher_nb.report.view import NightView, Part, listed, number, section, text
from cipher_nb.report.words import Sentence

NOTHING_COMPARED = (
    "Nothing has been compared yet. Run a night with: cipher-nb night. Or measure two adapters, for example with: "
    "cipher-nb battery run --adapter base, and name them as baseline and candidate."
)


@dataclass(frozen=True)
class Half:
    """One part of the gate: its word, what it says, and the figures behind it."""

    word: str
    tone: str
    sentence: str
    facts: Sequence[Fact]


@dataclass(frozen=True)
class Judged:
    """Rule and evidence; `guards` is None for a night that had none. The verdict is the evidence's."""

    rule: Half
    evidence: Half
    guards: Half | None


def judged(view: NightView) -> Judged | None:
    """Return what the gate says, or None when the night did not get to it."""
    return Judged(_rule(view), _evidence(view), _guards(view)) if view.gate is not None else None


def verdict(view: NightView) -> Sentence:
    """Return the verdict with its reason and what the rule says, or what to do where nothing was compared."""
    told = judged(view)
    if told is None:
        return Sentence(NOTHING_COMPARED)
    rule = "The rule passed." if told.rule.word == "passed" else f"The rule failed: {told.rule.sentence}"
    return Sentence(f"{told.evidence.word}: {told.evidence.sentence} {rule}")


def figures_table(view: NightView) -> Table:
    """Return the figures behind rule, evidence and guards, and what the answers cost."""
    told = judged(view)
    parts = [part for part in (told.rule, told.evidence, told.guards) if part] if told else []
    rows = [fact for part in parts for fact in part.facts]
    return Table(head=("What", "Figure"), rows=[*rows, *cost_facts(view)], empty="The gate has not spoken yet.")


def _rule(view: NightView) -> Half:
    rule = section(view.gate, "rule")
    passed = rule.get("passed") is True
    whole, rows = composite(view), [row for row in deltas(view) if row.delta is not None]
    facts = []
    if whole:
        facts.append(("Composite", f"{score(whole.production)} → {score(whole.candidate)} ({signed(whole.delta)})"))
    if rows:
        worst = min(rows, key=lambda row: row.delta or 0.0)
        facts.append(("Worst category", f"{plain(worst.category, 60)} {signed(worst.delta)}"))
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
    drops = [drop for row in rows if (drop := number(row, "detectable_drop")) is not None]
    if drops and len(drops) == len(rows):
        said = dict.fromkeys((f"{min(drops):.2f}", f"{max(drops):.2f}"))
        facts.append(("Smallest drop it could see", " to ".join(said) + (", by category" if len(said) > 1 else "")))
    word = plain(view.verdict, 40)
    return Half(word, TONES.get(word, ""), sentence(text(view.gate, "reason")), facts)


def _guards(view: NightView) -> Half | None:
    lost, drift = [str(each) for each in listed(section(view.gate, "must_pass"), "lost")], section(view.gate, "drift")
    facts = guard_facts(view)
    if not facts:
        return None
    problems = [f"{len(lost)} must-pass sample{'s' if len(lost) > 1 else ''} lost"] if lost else []
    if drift and drift.get("passed") is not True:
        problems.append("the candidate's words moved further from the base's than allowed")
    word, tone = ("failed", "bad") if problems else ("passed", "good")
    return Half(word, tone, sentence("; ".join(problems) or "nothing stands against the candidate here"), facts)


def _sum(rows: Sequence[Part], key: str) -> int:
    return int(sum(number(row, key) or 0 for row in rows))
