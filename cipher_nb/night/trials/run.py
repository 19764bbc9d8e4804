"""Run the trials of a study, one after the other; what is done is kept, and not done again."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from cipher_nb.errors import BatteryError, CipherError
from cipher_nb.night.alone import alone
from cipher_nb.night.folder import NightFolder, Progress
from cipher_nb.night.trials.evidence import Findings
from cipher_nb.night.trials.plan import Trial
from cipher_nb.night.trials.store import Outcome, scores_of
from cipher_nb.night.trials.study import Say, Study
from cipher_nb.night.trials.training import answers, made
from cipher_nb.training.qlora.loop import Step


def run_trials(study: Study, *, say: Say = lambda text: None) -> Findings:
    """Train and measure what the plan names and is not on record yet, and return what all of it came to.

    First the grid, then the SOP's setting and the best other one with more seeds, then the single changes. A trial is
    on disk as soon as it is done: whoever kills this loses the one that runs. One that could not be done is among
    the outcomes with its error, and is tried again the next time. `say` hears how far it is and how long it will take.

    Raises NightBusyError while a night or other trials run.
    """
    running = _Running(study, say, total=study.plan.count())
    with alone(study.parts):
        grid = [running.outcome(trial) for trial in study.plan.grid()]
        return _findings(study, [*grid, *map(running.outcome, after_the_grid(study, grid))])


def after_the_grid(study: Study, grid: Sequence[Outcome]) -> list[Trial]:
    """Return the trials that follow once the whole grid is done; some of them were done in it."""
    best = _findings(study, grid).best_other()
    return [*study.plan.confirming(best or study.plan.sop), *study.plan.changes()]


def _findings(study: Study, outcomes: Sequence[Outcome]) -> Findings:
    once = tuple({outcome.trial: outcome for outcome in outcomes}.values())
    return Findings(study.plan, study.frozen.target.category, scores_of(study.base), once)


@dataclass
class _Running:
    """The outcomes so far, in the order of the trials, and how long they took."""

    study: Study
    say: Say
    total: int
    seen: dict[Trial, Outcome] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.known = self.study.store.read()
        self.progress = Progress(NightFolder(self.study.folder), "trials")

    def outcome(self, trial: Trial) -> Outcome:
        """Return what `trial` came to, from the record where it is there."""
        if trial not in self.seen:
            key = self.study.key(trial)
            self.seen[trial] = self.known.get(key) or self._done(trial, key)
        return self.seen[trial]

    def _done(self, trial: Trial, key: str) -> Outcome:
        try:
            outcome = _trained_and_measured(self.study, trial, key, self._tell(trial))
        except CipherError as error:
            return Outcome(key, trial, scores={}, error=str(error))
        self.study.store.add(outcome)
        return outcome

    def _tell(self, trial: Trial) -> Say:
        number = len(self.seen) + 1
        taken = [outcome.seconds for outcome in self.seen.values() if not outcome.error]
        left = sum(taken) / len(taken) * (self.total - number + 1) if taken else None
        begun = time.monotonic()

        def tell(what: str) -> None:
            rest = "" if left is None else f"; about {max(0.0, left - time.monotonic() + begun) / 60:.0f} min left"
            text = f"trial {number} of {self.total} ({trial.name}, seed {trial.seed}): {what}{rest}"
            self.progress(number - 1, self.total, text)
            self.say(text)

        return tell


def _trained_and_measured(study: Study, trial: Trial, key: str, tell: Say) -> Outcome:
    tell("training begins")
    pairs = study.pairs(trial)
    begun = time.monotonic()
    settings = trial.settings(study.parts.config.training)
    with made(study, pairs, settings=settings, on_step=_step_teller(tell)) as adapter:
        trained_at = time.monotonic()
        results = answers(study, adapter, study.samples, on_progress=_answer_teller(tell))
    if results.unscored:
        raise BatteryError(f"{len(results.unscored)} answers have no score: {results.unscored[0].error}")
    return Outcome(
        key=key,
        trial=trial,
        scores=scores_of(results),
        losses=adapter.trained.losses,
        pairs=len(adapter.trained.pair_ids),
        training_s=round(trained_at - begun, 1),
        measuring_s=round(time.monotonic() - trained_at, 1),
    )


def _step_teller(tell: Say) -> Callable[[Step], None]:
    return lambda step: tell(f"training, step {step.number} of {step.total}, loss {step.loss:.2f}")


def _answer_teller(tell: Say) -> Callable[[int, int], None]:
    return lambda done, total: tell(f"measuring, answer {done} of {total}")
