"""What stands beside rule and evidence: pinned samples, drift, leaks, overfitting, and what the answers cost."""

from __future__ import annotations

from dataclasses import dataclass

from cipher_nb.report.facts import Fact
from cipher_nb.report.plain import duration, plain, score, signed
from cipher_nb.report.tables import Table
from cipher_nb.report.view import NightView, Part, listed, number, section, text

LOST_SHOWN = 5
LEAKS_SHOWN = 20


def guard_facts(view: NightView) -> list[Fact]:
    """Return how the must-pass samples, the drift and the leak check came out, as far as the night looked at them."""
    gate = view.gate or {}
    facts = [_must_pass(section(gate, "must_pass")), _drift(section(gate, "drift"))]
    if "leaked" in gate:
        leaked = len(leaks(view))
        facts.append(("Samples that leaked into training", f"{leaked:,}, retired" if leaked else "none"))
    return [fact for fact in facts if fact[1]]


def _must_pass(part: Part) -> Fact:
    asked, lost = number(part, "asked"), [plain(each, 60) for each in listed(part, "lost")]
    if not asked:
        return "Must-pass samples", ""
    if not lost:
        return "Must-pass samples", f"{asked:,.0f} asked, none lost"
    names = ", ".join(lost[:LOST_SHOWN]) + (" …" if len(lost) > LOST_SHOWN else "")
    return "Must-pass samples", f"{len(lost):,} of {asked:,.0f} lost: {names}"


def _drift(part: Part) -> Fact:
    nats, budget = number(part, "nats_per_token"), number(part, "budget")
    if nats is None or budget is None:
        return "Drift from the base", ""
    word = "within" if part.get("passed") is True else "beyond"
    return "Drift from the base", f"{nats:.3f} nats per token, {word} the {budget:.2f} allowed"


def leaks(view: NightView) -> list[Part]:
    """Return the sealed samples that shared words with what was trained on."""
    return [row for row in listed(view.gate, "leaked") if isinstance(row, dict)]


def leaked_table(view: NightView) -> Table:
    """Return the retired samples and the words that gave them away."""
    rows = [
        (plain(text(row, "sample"), 60), plain(text(row, "category"), 60), plain(text(row, "words"), 120))
        for row in leaks(view)
    ]
    more = [(f"{len(rows) - LEAKS_SHOWN:,} more", "", "")] if len(rows) > LEAKS_SHOWN else []
    return Table(
        head=("Retired sample", "Category", "Words it shares with the dataset"),
        rows=[*rows[:LEAKS_SHOWN], *more],
        empty="No sealed sample shares eight words in a row with what was trained on."
        if "leaked" in (view.gate or {})
        else "Leaks were not looked for here.",
    )


@dataclass(frozen=True)
class Practised:
    """The candidate's scores on the two sides of a category that it was trained on."""

    category: str
    n: int
    sealed: float
    practice: float

    @property
    def gap(self) -> float:
        return self.practice - self.sealed


def practised(view: NightView) -> list[Practised]:
    """Return the categories that were trained on, the widest gap first."""
    rows = []
    for name, row in section(view.gate, "practice").items():
        part = row if isinstance(row, dict) else {}
        sealed, practice = number(part, "sealed"), number(part, "practice")
        if sealed is not None and practice is not None:
            rows.append(Practised(name, int(number(part, "n") or 0), sealed, practice))
    return sorted(rows, key=lambda row: (-row.gap, row.category))


def overfit_table(view: NightView) -> Table:
    """Return the overfit meter: what was learned shows on both sides, what was learned by heart as a gap."""
    rows = practised(view)
    return Table(
        head=("Category", "Samples", "Practice side", "Sealed side", "Gap"),
        rows=[
            (plain(row.category, 60), f"{row.n:,}", score(row.practice), score(row.sealed), signed(row.gap))
            for row in rows
        ],
        empty="No category that was trained on is on record here.",
    )


def cost_facts(view: NightView) -> list[Fact]:
    """Return how many answers the gate asked and saved by looking early, or nothing where it asked them all."""
    spent = section(view.gate, "spent")
    asked, planned, seconds = (number(spent, key) for key in ("asked", "planned", "seconds"))
    if not asked or not planned:
        return []
    facts = [("Answers asked", f"{asked:,.0f} of {planned:,.0f} ({asked / planned:.0%})")]
    if seconds is not None:
        saved = seconds / asked * (planned - asked)
        facts.append(("Time", duration(seconds) + (f", about {duration(saved)} saved" if saved >= 1 else "")))
    looks = [row for row in listed(spent, "looks") if isinstance(row, dict)]
    if looks:
        told = ", ".join(f"{number(row, 'open') or 0:,.0f} after {number(row, 'n') or 0:,.0f}" for row in looks)
        facts.append(("Categories still open", f"{told} samples a category"))
    if (view.gate or {}).get("in_time") is False:
        facts.append(("Ended by", "the time limit, before everything was decided"))
    left_out = number(view.battery or {}, "left_out")
    if left_out:
        facts.append(("Left out", f"{left_out:,.0f} samples of code, which nothing on this machine holds in"))
    return facts
