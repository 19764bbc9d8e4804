"""A study: what the base can do, what is trained on, and with how much replay, ready before the first trial."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from cipher_nb.battery.families import CATEGORIES, practice
from cipher_nb.battery.results import Results
from cipher_nb.battery.samples import Sample
from cipher_nb.config import settings_as_json
from cipher_nb.engine.steady import SteadyServers
from cipher_nb.engine.swap import BASE
from cipher_nb.errors import BatteryError
from cipher_nb.night.idle import never
from cipher_nb.night.measure import OnProgress, header_for, measure, night_servers
from cipher_nb.night.parts import Parts
from cipher_nb.night.questions import questions
from cipher_nb.night.trials.data import (
    Frozen,
    base_replay,
    file_replay,
    fingerprint,
    freeze_new,
    healthy,
    mixed,
    turned_down,
)
from cipher_nb.night.trials.plan import Plan, Trial
from cipher_nb.night.trials.store import TrialStore
from cipher_nb.training.data.dataset import replay_wanted
from cipher_nb.training.data.pairs import Pair
from cipher_nb.training.data.rejected import REJECTED

Say = Callable[[str], None]


@dataclass(frozen=True)
class Study:
    """Everything that trials share. `rejected` is only for those that learn from rejections."""

    parts: Parts
    plan: Plan
    base: Results
    samples: tuple[Sample, ...]
    frozen: Frozen
    replay: Mapping[str, Sequence[Pair]]
    rejected: tuple[Pair, ...]

    @property
    def folder(self) -> Path:
        return self.parts.paths.trials

    @cached_property
    def store(self) -> TrialStore:
        return TrialStore(self.folder / "trials.jsonl")

    @property
    def asked(self) -> str:
        """What was asked of whom, as a fingerprint: another base, battery or engine is another study."""
        return asked_of(self.parts, self.samples)

    def pairs(self, trial: Trial) -> list[Pair]:
        """Return what `trial` trains on."""
        return mixed(
            self.parts,
            self.frozen,
            self.replay.get(trial.replay, ()),
            share=trial.replay_share,
            sealed=self.samples,
            rejected=self.rejected if trial.rejections == "kto" else (),
        )

    def key(self, trial: Trial) -> str:
        """Return what identifies a trial's outcome: its pairs, its settings, and what was asked of which base."""
        settings = settings_as_json(trial.settings(self.parts.config.training))
        return fingerprint([pair.id for pair in self.pairs(trial)], settings, trial.replay, self.asked)


def prepare(parts: Parts, plan: Plan, *, say: Say = lambda text: None) -> Study:
    """Ask the base, choose what to train on and have the replay answered; what is on record is not asked again.

    Raises BatteryError for an unknown category, for fewer than two, and where the base could not be scored.
    """
    parts.paths.trials.mkdir(parents=True, exist_ok=True)
    samples = _samples(parts, plan)
    with night_servers(parts, []) as model:
        base = _asked_base(parts, model, samples, _counting(say, "asking the base: answer"))
        scores = base.category_scores()
        asked = asked_of(parts, samples)
        frozen = freeze_new(parts, parts.paths.trials / "pairs.json", scores=scores, asked=asked)
        keep = healthy(parts.config.battery, scores, frozen.target.category)
        wanted = replay_wanted(len(frozen.new), share=plan.greatest_share())
        replay: dict[str, Sequence[Pair]] = {}
        if "base" in plan.replay:
            counting = _counting(say, "replay of the base: answer")
            replay["base"] = base_replay(parts, model, wanted, keep, on_progress=counting)
        if "file" in plan.replay and wanted:
            others = keep or [name for name in scores if name != frozen.target.category]
            replay["file"] = file_replay(parts, wanted, others, path=parts.paths.trials / "replay-file.jsonl")
        rejected = _rejected(parts, model, frozen, say) if "kto" in plan.rejections else []
    return Study(parts, plan, base, samples, frozen, replay, tuple(rejected))


def asked_of(parts: Parts, samples: Sequence[Sample]) -> str:
    return fingerprint(header_for(parts, BASE).fingerprint, [sample.id for sample in samples])


def _samples(parts: Parts, plan: Plan) -> tuple[Sample, ...]:
    battery = replace(parts.config.battery, per_category=plan.per_category)
    if plan.categories:
        battery = replace(battery, categories=tuple(plan.categories))
    asked = questions(replace(parts.config, battery=battery), parts.paths)
    ours = [name for name in asked.categories if name in CATEGORIES]
    if len(ours) < 2:
        raise BatteryError(f"categories {ours} are too few: one is trained on, the others show what that costs")
    return tuple(asked.first(dict.fromkeys(ours, plan.per_category)))


def _asked_base(parts: Parts, model: SteadyServers, samples: Sequence[Sample], on_progress: OnProgress) -> Results:
    results = measure(parts, model, BASE, samples, on_progress=on_progress, should_stop=never)
    if results.unscored:
        first = results.unscored[0]
        raise BatteryError(f"{len(results.unscored)} answers of the base have no score ({first.error}); try again")
    return results


def _rejected(parts: Parts, model: SteadyServers, frozen: Frozen, say: Say) -> list[Pair]:
    """Return what the operator turned down, and the base's own wrong answers to the practice questions."""
    asked = practice(frozen.target.category, frozen.target.pairs, seed=parts.config.battery.seed)
    on_progress = _counting(say, "wrong answers of the base: answer")
    answers = {row.sample: row for row in _asked_base(parts, model, asked, on_progress).rows}
    wrong = [
        Pair(sample.messages, answers[sample.id].answer, task=sample.id, source=REJECTED)
        for sample in asked
        if answers[sample.id].score == 0 and answers[sample.id].answer.strip()
    ]
    return [*turned_down(parts), *wrong]


def _counting(say: Say, what: str) -> Callable[[int, int], None]:
    return lambda done, total: say(f"{what} {done} of {total}")
