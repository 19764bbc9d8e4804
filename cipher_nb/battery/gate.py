"""The gate: the SOP's rule and the paired evidence, reported apart, and one verdict."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from typing import Any, Literal

from cipher_nb.battery.evidence.course import COMPOSITE, Answers, Course, follow
from cipher_nb.battery.evidence.looks import Plan, single
from cipher_nb.battery.evidence.weigh import CategoryEvidence, Evidence, weigh
from cipher_nb.battery.results import Results, Row
from cipher_nb.battery.rule import MAX_DROP, CategoryDelta, RuleReport, apply_rule

__all__ = ["MAX_DROP", "CategoryDelta", "Evidence", "GateReport", "MustPass", "RuleReport", "Verdict", "compare"]

Verdict = Literal["PROVEN", "INCONCLUSIVE", "REGRESSION", "COULD_NOT_RUN"]
SAME = ("base", "battery_version", "engine", "settings")


@dataclass(frozen=True)
class MustPass:
    """How many pinned samples were asked, and which of them production answers better."""

    asked: int = 0
    lost: tuple[str, ...] = ()


@dataclass(frozen=True)
class GateReport:
    """Rule and evidence of candidate against production, the verdict with its reason, and the rule against anchors."""

    rule: RuleReport
    evidence: Evidence
    verdict: Verdict
    reason: str
    anchors: Mapping[str, RuleReport] = field(default_factory=dict)
    must_pass: MustPass = field(default_factory=MustPass)

    def to_json(self) -> dict[str, Any]:
        return {
            "rule": self.rule.to_json(),
            "evidence": self.evidence.to_json(),
            "verdict": self.verdict,
            "reason": self.reason,
            "anchors": {name: report.to_json() for name, report in self.anchors.items()},
            "must_pass": asdict(self.must_pass),
        }


def compare(
    production: Results,
    candidate: Results,
    *,
    anchors: Mapping[str, Results] | None = None,
    plan: Plan | None = None,
    sizes: Mapping[str, int] | None = None,
    must_pass: Collection[str] = (),
) -> GateReport:
    """Return what the gate says of `candidate`, which was asked the same samples as `production`, in the same order.

    Without a `plan` the answers are looked at once. With one, they are looked at as often as they allow, and `sizes`
    says how many samples each category has in all. `must_pass` names samples that stand apart: they count in no
    category, and to lose one is a REGRESSION. `anchors` (e.g. the base, and the best ever held) get the same rule,
    reported apart; they do not touch the verdict.
    """
    pinned = frozenset(must_pass)
    before, after = production.without(pinned), candidate.without(pinned)
    rule = apply_rule(before, after)
    anchored = {name: apply_rule(results.without(pinned), after) for name, results in (anchors or {}).items()}
    held = _must_pass(production.only(pinned), candidate.only(pinned))
    obstacle = _obstacle(production, candidate)
    if obstacle:
        return GateReport(rule, Evidence(), "COULD_NOT_RUN", obstacle, anchored, held)
    asked = answers(before, after, sizes=sizes)
    course = follow(asked, plan or single(max((each.size for each in asked.values()), default=1)))
    evidence = weigh(asked, course)
    verdict, reason = _judge(evidence, course, held)
    return GateReport(rule, evidence, verdict, reason, anchored, held)


def answers(production: Results, candidate: Results, *, sizes: Mapping[str, int] | None = None) -> dict[str, Answers]:
    """Return the differences of every category, in production's order, where both sides have a score."""
    after = {row.sample: row for row in candidate.rows if row.score is not None}
    found = {
        category: [_difference(row, after[row.sample]) for row in rows if row.sample in after]
        for category, rows in production.by_category().items()
    }
    return {name: Answers(found.get(name, []), size) for name, size in (sizes or _lengths(found)).items()}


def _lengths(found: Mapping[str, list[Fraction]]) -> dict[str, int]:
    return {name: len(differences) for name, differences in found.items()}


def _difference(before: Row, after: Row) -> Fraction:
    return after.exact_score - before.exact_score


def _must_pass(production: Results, candidate: Results) -> MustPass:
    after = {row.sample: row for row in candidate.rows}
    pairs = [(row, after[row.sample]) for row in production.rows if row.sample in after]
    lost = [now.sample for was, now in pairs if was.score is not None and (now.score or 0) < was.score]
    return MustPass(len(pairs), tuple(lost))


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


def _judge(evidence: Evidence, course: Course, must_pass: MustPass) -> tuple[Verdict, str]:
    if must_pass.lost:
        return "REGRESSION", f"must-pass samples lost: {', '.join(must_pass.lost)}"
    if course.worse:
        return "REGRESSION", f"worse than chance explains: {', '.join(_told(evidence, course))}"
    open_ = [found for found in evidence.categories if found.word == "open"]
    if course.lifted and not open_ and course.taken:
        return "PROVEN", f"better, and no category falls by {MAX_DROP} (95 %)"
    return "INCONCLUSIVE", _doubt(evidence, open_, lifted=course.lifted)


def _told(evidence: Evidence, course: Course) -> list[str]:
    worse = [found for found in evidence.categories if found.word == "worse"]
    told = [f"{found.category} {found.delta:+.3f} (p = {found.p_worse_holm:.3g})" for found in worse]
    if COMPOSITE in course.worse and evidence.composite:
        told.append(f"the composite {evidence.composite.delta:+.3f}")
    return told


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
