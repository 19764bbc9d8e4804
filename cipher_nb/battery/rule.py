"""The SOP's rule, exact: no category may fall by more than 0.05, and the composite may not fall at all."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any

from cipher_nb.battery.results import Results

MAX_DROP = 0.05
EXACT_MAX_DROP = Fraction(str(MAX_DROP))


@dataclass(frozen=True)
class CategoryDelta:
    """Mean scores of one category and their difference; None where a side has no scored sample of it."""

    category: str
    production: float | None
    candidate: float | None
    delta: float | None


@dataclass(frozen=True)
class RuleReport:
    """Whether the rule passed, why not, and the numbers it was decided on."""

    passed: bool
    reason: str
    categories: tuple[CategoryDelta, ...]
    production_composite: float | None
    candidate_composite: float | None
    composite_delta: float | None

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def apply_rule(production: Results, candidate: Results) -> RuleReport:
    """Return the rule's answer; exactly -0.05 passes, and scores are compared as decimals, not as binary floats."""
    before, after = production.exact_category_scores(), candidate.exact_category_scores()
    names = list(dict.fromkeys([*before, *after]))
    deltas = {name: after[name] - before[name] for name in names if name in before and name in after}
    composite = sum(deltas.values(), Fraction()) / len(deltas) if deltas and len(deltas) == len(names) else None
    reason = _objection(names, deltas, composite)
    return RuleReport(
        passed=not reason,
        reason=reason or f"every category delta >= -{MAX_DROP:.2f} and composite delta >= 0",
        categories=tuple(
            CategoryDelta(name, _float(before.get(name)), _float(after.get(name)), _float(deltas.get(name)))
            for name in names
        ),
        production_composite=production.composite() if before else None,
        candidate_composite=candidate.composite() if after else None,
        composite_delta=_float(composite),
    )


def _objection(names: list[str], deltas: dict[str, Fraction], composite: Fraction | None) -> str:
    if composite is None:
        missing = [name for name in names if name not in deltas]
        return f"not scored on both sides: {', '.join(missing)}" if missing else "nothing is scored"
    fallen = [f"{name} {_shown(delta)}" for name, delta in deltas.items() if delta < -EXACT_MAX_DROP]
    if fallen:
        return f"category below -{MAX_DROP:.2f}: {', '.join(fallen)}"
    return f"composite delta {_shown(composite)} is below 0" if composite < 0 else ""


def _shown(delta: Fraction) -> str:
    """Return at least three decimals, and as many as it takes not to round a failure onto the limit."""
    text = f"{float(delta):+.3f}"
    return f"{float(delta):+.7g}" if Fraction(text) in (-EXACT_MAX_DROP, 0) else text


def _float(value: Fraction | None) -> float | None:
    return None if value is None else float(value)
