"""What the gate compared, category by category, in numbers and in a word."""

from __future__ import annotations

from dataclasses import dataclass

from cipher_nb.battery.rule import MAX_DROP
from cipher_nb.report.view import NightView, Part, listed, number, section, text


@dataclass(frozen=True)
class Delta:
    """One category, or the composite of all.

    `lower_bound` is the least true delta the evidence vouches for (95 %, one-sided), None where it has none.
    `allowed_drop` is how far the rule lets it fall.
    """

    category: str
    n: int
    production: float | None
    candidate: float | None
    delta: float | None
    lower_bound: float | None
    allowed_drop: float = MAX_DROP

    @property
    def below_gate(self) -> bool:
        return self.delta is not None and self.delta < -self.allowed_drop

    @property
    def word(self) -> str:
        """A sign and a word, so that no meaning hangs on a colour."""
        if self.delta is None:
            return "– not scored"
        if self.delta == 0:
            return "= unchanged"
        if self.delta > 0:
            return "▲ better" if (self.lower_bound or 0.0) > 0 else "△ better, unproven"
        return "✕ below the gate" if self.below_gate else "▼ worse, allowed"


def deltas(view: NightView) -> list[Delta]:
    """Return every category the gate compared: unscored ones first, then the worst delta first."""
    evidence = {text(row, "category"): row for row in category_rows(section(view.gate, "evidence"))}
    rows = [_delta(row, evidence.get(text(row, "category"), {})) for row in category_rows(section(view.gate, "rule"))]
    return sorted(rows, key=lambda row: (row.delta is not None, row.delta or 0.0, row.category))


def composite(view: NightView) -> Delta | None:
    """Return the plain mean over categories on both sides, or None where the gate could not form it."""
    rule, evidence = section(view.gate, "rule"), section(view.gate, "evidence")
    delta = number(rule, "composite_delta")
    if delta is None:
        return None
    return Delta(
        category="composite",
        n=sum(row.n for row in deltas(view)),
        production=number(rule, "production_composite"),
        candidate=number(rule, "candidate_composite"),
        delta=delta,
        lower_bound=number(section(evidence, "composite"), "lower"),
        allowed_drop=0.0,
    )


def category_rows(part: Part) -> list[Part]:
    """Return the rows of one half of the gate's report, the rule or the evidence."""
    return [row for row in listed(part, "categories") if isinstance(row, dict)]


def _delta(rule: Part, evidence: Part) -> Delta:
    return Delta(
        category=text(rule, "category"),
        n=int(number(evidence, "n") or 0),
        production=number(rule, "production"),
        candidate=number(rule, "candidate"),
        delta=number(rule, "delta"),
        lower_bound=number(evidence, "lower"),
    )
