"""How long a study will take, from a rehearsal on this machine."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from cipher_nb.battery.samples import Sample
from cipher_nb.night.alone import alone
from cipher_nb.night.trials.plan import Trial
from cipher_nb.night.trials.run import after_the_grid
from cipher_nb.night.trials.study import Say, Study
from cipher_nb.night.trials.training import answers, made
from cipher_nb.training.qlora.loop import Step

REHEARSED_ANSWERS = 16


@dataclass(frozen=True)
class Estimate:
    """How many trials there are, how many of them are done already, and the seconds that the others will take."""

    trials: int
    done: int
    seconds: float


@dataclass(frozen=True)
class Pace:
    """Seconds: to load the base and start a server, of a pair in an epoch, of an answer."""

    start_s: float
    pair_s: float
    answer_s: float

    def of(self, trial: Trial, study: Study) -> float:
        training = study.parts.config.training.epochs * len(study.pairs(trial)) * self.pair_s
        return self.start_s + training + len(study.samples) * self.answer_s


def estimate(study: Study, *, say: Say = lambda text: None) -> Estimate:
    """Rehearse a step of training, the export and some answers, and return what that makes for what is not done yet.

    Which setting is best is not known before the grid is done; until then its trials count as the SOP's. Costs half a
    minute with the embedded model, nothing where all is done. Raises TrainingError where nothing can be trained.
    """
    known, grid = study.store.read(), study.plan.grid()
    done = [known[key] for trial in grid if (key := study.key(trial)) in known]
    if len(done) == len(grid):
        more = after_the_grid(study, done)
    else:
        more = [*study.plan.confirming(study.plan.sop), *study.plan.changes()]
    planned = dict.fromkeys([*grid, *more])
    ahead = [trial for trial in planned if study.key(trial) not in known]
    if not ahead:
        return Estimate(len(planned), len(planned), 0.0)
    say("rehearsing: a step of training, and some answers")
    pace, unnamed = rehearse(study), study.plan.count() - len(planned)
    seconds = sum(pace.of(trial, study) for trial in ahead) + unnamed * pace.of(study.plan.sop, study)
    return Estimate(len(planned) + unnamed, len(planned) - len(ahead), seconds)


def rehearse(study: Study) -> Pace:
    """Train one step, export and ask some answers, and return how long each part took."""
    config = study.parts.config.training
    pairs = study.pairs(study.plan.sop)[: config.batch_size]
    settings = replace(study.plan.sop.settings(config), epochs=1)
    steps: list[Step] = []
    samples = _some(study.samples)
    begun = time.monotonic()
    with alone(study.parts), made(study, pairs, settings=settings, on_step=steps.append) as adapter:
        stepping_s = sum(step.tokens for step in steps) / steps[-1].tokens_per_s
        answering: list[float] = []
        answers(study, adapter, samples, on_progress=lambda *_: answering.append(time.monotonic()))
    answering_s = answering[-1] - answering[0]
    whole_s = time.monotonic() - begun
    return Pace(whole_s - stepping_s - answering_s, stepping_s / len(pairs), answering_s / len(samples))


def _some(samples: Sequence[Sample]) -> Sequence[Sample]:
    return samples[:: max(1, len(samples) // REHEARSED_ANSWERS)]
