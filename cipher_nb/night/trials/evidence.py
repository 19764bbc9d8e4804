"""What the scores of trials say: gain on what was trained, loss elsewhere, and how sure that is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from cipher_nb.battery.evidence.composite import composite_bound, composite_delta
from cipher_nb.battery.evidence.paired import Tally, lower_bound
from cipher_nb.battery.rule import MAX_DROP
from cipher_nb.night.trials.plan import Plan, Trial
from cipher_nb.night.trials.store import Outcome, Scores

ERROR = 0.05


@dataclass(frozen=True)
class Change:
    """A mean difference of paired scores with its 95 % interval, and the least and the greatest over the seeds.

    The interval is about the questions: other ones of the same kind, the same trained adapters.
    """

    delta: float
    lower: float
    upper: float
    least: float
    greatest: float

    @property
    def word(self) -> str:
        """better, worse, or "" where chance alone explains it."""
        return "better" if self.lower > 0 else "worse" if self.upper < 0 else ""


@dataclass(frozen=True)
class Finding:
    """One setting over its seeds, against the base.

    `target` is the category it was trained on, `elsewhere` the mean over the others, `worst` the one of them that fell
    most (its interval allows for having been picked), `composite` the mean over all, as the gate's rule has it.
    """

    setting: Trial
    seeds: tuple[int, ...]
    target: Change
    elsewhere: Change
    worst_category: str
    worst: Change
    composite: Change
    last_loss: float
    seconds: float

    @property
    def passes_rule(self) -> bool:
        """Whether it would pass the SOP's gate: no category falls by more than 0.05, the composite does not fall."""
        return self.composite.delta >= 0 and min(self.worst.delta, self.target.delta) >= -MAX_DROP


@dataclass(frozen=True)
class Findings:
    """All that was tried: the base's scores, the category that was trained on, and what each trial came to."""

    plan: Plan
    target: str
    base: Scores
    outcomes: tuple[Outcome, ...]

    @property
    def failed(self) -> tuple[Outcome, ...]:
        return tuple(outcome for outcome in self.outcomes if outcome.error)

    def of(self, setting: Trial) -> list[Outcome]:
        """Return the outcomes of a setting, whatever their seed."""
        return [each for each in self.outcomes if each.trial.setting == setting.setting and not each.error]

    def settings(self) -> list[Trial]:
        """Return the settings that were measured, in the order in which they were tried."""
        return list(dict.fromkeys(each.trial.setting for each in self.outcomes if not each.error))

    def finding(self, setting: Trial) -> Finding | None:
        """Return what the setting came to, or None where it was not measured."""
        outcomes = self.of(setting)
        if not outcomes:
            return None
        others = [name for name in self.base if name != self.target]
        changes = {name: self._against_base(outcomes, [name], share=len(others)) for name in others}
        worst = min(others, key=lambda name: changes[name].delta)
        return Finding(
            setting=setting.setting,
            seeds=tuple(each.trial.seed for each in outcomes),
            target=self._against_base(outcomes, [self.target]),
            elsewhere=self._against_base(outcomes, others),
            worst_category=worst,
            worst=changes[worst],
            composite=self._against_base(outcomes, list(self.base)),
            last_loss=sum(each.last_loss for each in outcomes) / len(outcomes),
            seconds=sum(each.seconds for each in outcomes) / len(outcomes),
        )

    def best_other(self) -> Trial | None:
        """Return the setting of the grid, other than the SOP's, that does best: by the rule, then by the composite.

        Judged by the grid's own seeds, so that who had more of them has no advantage.
        """
        seen = [replace_seeds(self, self.plan.seeds).finding(each) for each in self.grid_settings()]
        others = [each for each in seen if each and each.setting != self.plan.sop.setting]
        best = max(others, key=lambda each: (each.passes_rule, each.composite.delta), default=None)
        return best.setting if best else None

    def grid_settings(self) -> list[Trial]:
        return list(dict.fromkeys(trial.setting for trial in self.plan.grid()))

    def between(self, one: Trial, other: Trial, *, of: str = "composite", share: int = 1) -> Change | None:
        """Return how much better `one` is than `other`, over the seeds that both have, or None where they have none.

        `of`: "target", "elsewhere" or "composite". `share` is how many such statements are to hold together.
        """
        ours, theirs = ({each.trial.seed: each.scores for each in self.of(setting)} for setting in (one, other))
        seeds = sorted(ours.keys() & theirs.keys())
        if not seeds:
            return None
        return change([theirs[s] for s in seeds], [ours[s] for s in seeds], self._categories(of), share=share)

    def _categories(self, of: str) -> list[str]:
        everything = list(self.base)
        return {
            "target": [self.target],
            "elsewhere": [name for name in everything if name != self.target],
            "composite": everything,
        }[of]

    def _against_base(self, outcomes: Sequence[Outcome], categories: Sequence[str], *, share: int = 1) -> Change:
        return change([self.base] * len(outcomes), [each.scores for each in outcomes], categories, share=share)


def replace_seeds(findings: Findings, seeds: Sequence[int]) -> Findings:
    """Return the findings of these seeds alone."""
    kept = tuple(each for each in findings.outcomes if each.trial.seed in seeds)
    return Findings(findings.plan, findings.target, findings.base, kept)


def change(before: Sequence[Scores], after: Sequence[Scores], categories: Sequence[str], *, share: int = 1) -> Change:
    """Return the mean change over `categories` of runs side by side, each category weighing the same.

    The runs of a side (seeds) are averaged sample by sample before they are compared; `share` divides the 5 % of error
    among that many statements.
    """
    tallies = [Tally.of(_differences(before, after, name)) for name in categories]
    alone = [
        float(composite_delta([Tally.of(_differences([ours], [theirs], name)) for name in categories]))
        for ours, theirs in zip(before, after, strict=True)
    ]
    level = ERROR / 2 / share
    return Change(
        delta=float(composite_delta(tallies)),
        lower=_bound(tallies, level),
        upper=-_bound([tally.mirrored() for tally in tallies], level),
        least=min(alone),
        greatest=max(alone),
    )


def _bound(tallies: Sequence[Tally], level: float) -> float:
    return lower_bound(tallies[0], level=level) if len(tallies) == 1 else composite_bound(tallies, level=level)


def _differences(before: Sequence[Scores], after: Sequence[Scores], category: str) -> list[Fraction]:
    """Return the mean difference of each sample that every run scored."""
    runs = [scores[category] for scores in (*before, *after)]
    samples = [name for name in runs[0] if all(name in run for run in runs)]
    return [_mean(after, category, name) - _mean(before, category, name) for name in samples]


def _mean(runs: Sequence[Scores], category: str, sample: str) -> Fraction:
    return sum((Fraction(str(scores[category][sample])) for scores in runs), Fraction()) / len(runs)
