"""What the gate compared, category by category, in numbers and in a word."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from cipher_nb.battery.rule import MAX_DROP
from cipher_nb.report.view import NightView, Part, listed, number, section, text

Said = Literal["", "worse", "open", "not worse", "better"]
SIGNS: dict[Said, str] = {"worse": "✕", "open": "○", "not worse": "●", "better": "▲"}
"""The evidence's words, the one to look at first in front, each with the sign that stands for it."""
_RANK = {said: rank for rank, said in enumerate(("", *SIGNS))}


@dataclass(frozen=True)
class Delta:
    """One category, or the composite of all.

    The bounds are the least and the greatest true delta (95 %, one-sided each), None where the evidence has none.
    `allowed_drop` is how far the rule lets it fall; `said` is the evidence's own word, "" in a night that had none.
    """

    category: str
    n: int
    production: float | None
    candidate: float | None
    delta: float | None
    lower_bound: float | None
    allowed_drop: float = MAX_DROP
    upper_bound: float | None = None
    said: Said = ""

    @property
    def below_gate(self) -> bool:
        return self.delta is not None and self.delta < -self.allowed_drop

    @property
    def sign(self) -> str:
        return self.word.partition(" ")[0]

    @property
    def word(self) -> str:
        """A sign and a word, so that no meaning hangs on a colour."""
        if self.delta is None:
            return "– not scored"
        if self.said:
            failing = ", below the gate" if self.below_gate and self.said == "open" else ""
            return f"{SIGNS[self.said]} {self.said}{failing}"
        return self._word_without_evidence

    @property
    def _word_without_evidence(self) -> str:
        if self.delta == 0:
            return "= unchanged"
        if self.delta and self.delta > 0:
            return "▲ better" if (self.lower_bound or 0.0) > 0 else "△ better, unproven"
        return "✕ below the gate" if self.below_gate else "▼ worse, allowed"


def deltas(view: NightView) -> list[Delta]:
    """Return every category the gate compared: unscored, worse, open, not worse, better; inside by delta."""
    evidence = {text(row, "category"): row for row in category_rows(section(view.gate, "evidence"))}
    rows = [_delta(row, evidence.get(text(row, "category"), {})) for row in category_rows(section(view.gate, "rule"))]
    return sorted(rows, key=lambda row: (row.delta is not None, _RANK[row.said], row.delta or 0.0, row.category))


def composite(view: NightView) -> Delta | None:
    """Return the plain mean over categories on both sides, or None where the gate could not form it."""
    rule, evidence = section(view.gate, "rule"), section(section(view.gate, "evidence"), "composite")
    delta, lower, upper = number(rule, "composite_delta"), number(evidence, "lower"), number(evidence, "upper")
    if delta is None:
        return None
    return Delta(
        category="composite",
        n=sum(row.n for row in deltas(view)),
        production=number(rule, "production_composite"),
        candidate=number(rule, "candidate_composite"),
        delta=delta,
        lower_bound=lower,
        allowed_drop=0.0,
        upper_bound=upper,
        said=_composite_word(lower, upper),
    )


def _composite_word(lower: float | None, upper: float | None) -> Said:
    if lower is None or upper is None:
        return ""
    return "better" if lower > 0 else "worse" if upper < 0 else "open"


def category_rows(part: Part) -> list[Part]:
    """Return the rows of one half of the gate's report, the rule or the evidence."""
    return [row for row in listed(part, "categories") if isinstance(row, dict)]


def _delta(rule: Part, evidence: Part) -> Delta:
    word = text(evidence, "word")
    return Delta(
        category=text(rule, "category"),
        n=int(number(evidence, "n") or 0),
        production=number(rule, "production"),
        candidate=number(rule, "candidate"),
        delta=number(rule, "delta"),
        lower_bound=number(evidence, "lower"),
        upper_bound=number(evidence, "upper"),
        said=next((said for said in SIGNS if said == word), ""),
    )
