"""Trials as tables: what they train on, how long they will take, and what each setting came to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import ceil

from cipher_nb.night.trials.estimate import Estimate
from cipher_nb.night.trials.evidence import Change, Finding, Findings
from cipher_nb.night.trials.study import Study
from cipher_nb.report.plain import duration, plain, signed
from cipher_nb.report.tables import Table
from cipher_nb.report.words import Sentence


def datasets_table(study: Study) -> Table:
    """Return what each kind of trial trains on: the same new pairs, with more or less replay."""
    trials = [*study.plan.grid(), *study.plan.changes()]
    kinds = {(trial.replay, trial.replay_share, trial.rejections): trial for trial in trials}
    rows = []
    for trial in kinds.values():
        pairs = study.pairs(trial)
        found = Counter(pair.source.partition(":")[0] for pair in pairs)
        share = found["replay"] / (len(pairs) - found["rejected"])
        source = {"base": "the base's own answers", "file": "file"}[trial.replay] if found["replay"] else "none"
        counts = (f"{found[name]:,}" for name in ("approved", "practice", "replay", "rejected"))
        rows.append((source, f"{share:.0%}", *counts))
    return Table(head=("Replay", "Share", "Approved pairs", "Practice pairs", "Replay pairs", "Rejected"), rows=rows)


def study_words(study: Study) -> Sentence:
    """Return what is trained and what it is measured on."""
    target, count = study.frozen.target, len({sample.category for sample in study.samples})
    return Sentence(
        f"Trained on {plain(target.category, 60)}, the base's weakest category (it scores {target.score:.2f}), and on "
        f"approved work; measured on {len(study.samples):,} sealed samples of {count} categories."
    )


def estimate_words(estimate: Estimate) -> Sentence:
    """Return how long it will take, before it begins."""
    to_do = estimate.trials - estimate.done
    if not to_do:
        return Sentence(f"All {estimate.trials} trials are on record; nothing is trained.")
    done = f", {estimate.done} of them done already" if estimate.done else ""
    trials = f"{estimate.trials} trial{'s' * (estimate.trials != 1)}"
    return Sentence(f"{trials}{done}: about {ceil(estimate.seconds / 60):,} min to go.")


def trials_table(findings: Findings) -> Table:
    """Return a row a setting, in the order in which they were tried."""
    rows = [_row(finding) for setting in findings.settings() if (finding := findings.finding(setting))]
    head = (
        "Rate · replay",
        "Gain",
        "Elsewhere",
        "Worst elsewhere",
        "Composite",
        "Over the seeds",
        "Last loss",
        "Time",
    )
    return Table(head=head, rows=rows, empty="No trial has been done yet.")


def _row(finding: Finding) -> tuple[str, ...]:
    return (
        finding.setting.name,
        with_interval(finding.target),
        with_interval(finding.elsewhere),
        f"{plain(finding.worst_category, 40)} {with_interval(finding.worst)}",
        with_interval(finding.composite),
        _over_seeds(finding),
        f"{finding.last_loss:.2f}",
        duration(finding.seconds),
    )


def with_interval(change: Change) -> str:
    """Return `+0.42 (+0.25 to +0.56)`."""
    return f"{signed(change.delta)} ({signed(change.lower)} to {signed(change.upper)})"


def _over_seeds(finding: Finding) -> str:
    if len(finding.seeds) == 1:
        return "1 seed"
    return f"{len(finding.seeds)} seeds: gain {over_seeds(finding.target)}, elsewhere {over_seeds(finding.elsewhere)}"


def over_seeds(change: Change) -> str:
    """Return `+0.38 to +0.44`, the least and the greatest over the seeds."""
    return f"{signed(change.least)} to {signed(change.greatest)}"


def failed_words(findings: Findings) -> Sequence[str]:
    """Return why trials could not be done, one each."""
    return [f"{each.trial.name}, seed {each.trial.seed}: {plain(each.error, 300)}" for each in findings.failed]
