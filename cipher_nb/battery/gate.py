"""The gate: the SOP's rule and the paired evidence, reported apart, and one verdict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from typing import Any, Literal

from cipher_nb.battery.bounds import ERROR
from cipher_nb.battery.evidence import CategoryEvidence, CompositeEvidence, category_evidence, composite_evidence
from cipher_nb.battery.results import Results
from cipher_nb.battery.rule import EXACT_MAX_DROP, MAX_DROP, CategoryDelta, RuleReport, apply_rule

__all__ = ["MAX_DROP", "CategoryDelta", "Evidence", "GateReport", "RuleReport", "Verdict", "compare"]

Verdict = Literal["PROVEN", "INCONCLUSIVE", "REGRESSION", "COULD_NOT_RUN"]
SAME = ("base", "battery_version", "engine", "settings")


@dataclass(frozen=True)
class Evidence:
    """The paired evidence; without categories and composite where nothing could be compared."""

    categories: tuple[CategoryEvidence, ...] = ()
    composite: CompositeEvidence | None = None

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class GateReport:
    """Rule and evidence of candidate against production, the verdict with its reason, and the rule against anchors."""

    rule: RuleReport
    evidence: Evidence
    verdict: Verdict
    reason: str
    anchors: Mapping[str, RuleReport] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return {
            "rule": self.rule.to_json(),
            "evidence": self.evidence.to_json(),
            "verdict": self.verdict,
            "reason": self.reason,
            "anchors": {name: report.to_json() for name, report in self.anchors.items()},
        }


def compare(production: Results, candidate: Results, *, anchors: Mapping[str, Results] | None = None) -> GateReport:
    """Return what the gate says of `candidate`, which was asked the same samples as `production`.

    `anchors` (e.g. the base, and the best ever held) get the same rule, reported apart; they do not touch the verdict.
    """
    rule = apply_rule(production, candidate)
    anchored = {name: apply_rule(results, candidate) for name, results in (anchors or {}).items()}
    obstacle = _obstacle(production, candidate)
    if obstacle:
        return GateReport(rule, Evidence(), "COULD_NOT_RUN", obstacle, anchored)
    differences = _differences(production, candidate)
    evidence = Evidence(category_evidence(differences, margin=MAX_DROP), composite_evidence(differences))
    verdict, reason = _judge(evidence)
    return GateReport(rule, evidence, verdict, reason, anchored)


def _obstacle(production: Results, candidate: Results) -> str:
    """Return why the two cannot be compared, or ""."""
    if not production.rows or not candidate.rows:
        return f"{'candidate' if production.rows else 'production'} has no rows"
    if production.header and candidate.header:
        changed = [n for n in SAME if getattr(production.header, n) != getattr(candidate.header, n)]
        if changed:
            return f"not asked alike: {', '.join(changed)} of the two runs differ"
    before, after = ({(row.category, row.sample) for row in results.rows} for results in (production, candidate))
    lost = sorted({category for category, _ in before} ^ {category for category, _ in after})
    if lost:
        return f"category missing on one side: {', '.join(lost)}"
    if before != after:
        return f"{len(before - after)} samples are only in production, {len(after - before)} only in candidate"
    return next(filter(None, (_unscored(n, r) for n, r in (("production", production), ("candidate", candidate)))), "")


def _unscored(name: str, results: Results) -> str:
    rows = results.unscored
    if not rows:
        return ""
    cause = next((f" ({row.error})" for row in rows if row.error), "")
    return f"{len(rows)} of {len(results.rows)} samples of {name} are unscored{cause}"


def _differences(production: Results, candidate: Results) -> dict[str, list[Fraction]]:
    after = {row.sample: row.exact_score for row in candidate.rows}
    return {
        category: [after[row.sample] - row.exact_score for row in rows]
        for category, rows in production.by_category().items()
    }


def _judge(evidence: Evidence) -> tuple[Verdict, str]:
    worse = [found for found in evidence.categories if _is_regression(found)]
    if worse:
        told = ", ".join(f"{c.category} {c.delta:+.3f} (p = {c.p_worse_holm:.3g})" for c in worse)
        return "REGRESSION", f"worse than chance explains: {told}"
    open_ = [found for found in evidence.categories if found.lower <= -MAX_DROP]
    lifted = evidence.composite is not None and evidence.composite.lower > 0
    if not open_ and lifted:
        return "PROVEN", f"better, and no category falls by {MAX_DROP} (95 %)"
    return "INCONCLUSIVE", _doubt(evidence, open_, lifted=lifted)


def _is_regression(found: CategoryEvidence) -> bool:
    return found.p_worse_holm <= ERROR and Fraction(str(round(found.delta, 9))) < -EXACT_MAX_DROP


def _doubt(evidence: Evidence, open_: list[CategoryEvidence], *, lifted: bool) -> str:
    parts = []
    if open_:
        parts.append(f"a drop of {MAX_DROP} is not ruled out in {', '.join(found.category for found in open_)}")
    if not lifted:
        parts.append("the composite's gain may be chance")
    drops = [found.detectable_drop for found in evidence.categories]
    if all(drop is not None for drop in drops):
        parts.append(f"smallest drop it could have seen: {max(drop for drop in drops if drop is not None):.3f}")
    wanted = [found.samples_to_decide for found in open_]
    if wanted and all(wanted):
        parts.append(f"about {max(count for count in wanted if count)} samples a category would decide")
    return "; ".join(parts)
