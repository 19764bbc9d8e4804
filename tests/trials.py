"""Outcomes of trials as they would be, made of right and wrong answers that are counted out."""

from __future__ import annotations

from collections.abc import Mapping

from cipher_nb.night.trials.evidence import Findings
from cipher_nb.night.trials.plan import Plan, Trial
from cipher_nb.night.trials.store import Outcome, Scores

SAMPLES = 48
BASE = {"keybindings": 5, "command registry": 40, "settings": 30, "agent tools": 20}


def scores(right: Mapping[str, int], *, shift: int = 0, samples: int = SAMPLES) -> Scores:
    """Return the first `right` samples of each category as right, after `shift` ones that are wrong."""
    return {
        name: {f"{name}-{n}": float(shift <= n < count + shift) for n in range(samples)}
        for name, count in right.items()
    }


def outcome(trial: Trial, gain: int, elsewhere: int = 0, *, shift: int = 0, samples: int = SAMPLES) -> Outcome:
    """Return the outcome of a trial with so many more right answers on the target, and in `settings` elsewhere."""
    right = {**BASE, "keybindings": BASE["keybindings"] + gain, "settings": BASE["settings"] + elsewhere}
    key = f"{trial.name} {trial.seed}"
    return Outcome(key, trial, scores(right, shift=shift, samples=samples), (2.0, 0.5), 105, 120.0, 40.0)


def findings(plan: Plan, *outcomes: Outcome) -> Findings:
    return Findings(plan, "keybindings", scores(BASE), outcomes)


def whole(plan: Plan) -> Findings:
    """Return what a whole plan could have come to: higher rates gain more, replay keeps more."""
    found = []
    for trial in dict.fromkeys([*plan.grid(), *plan.confirming(Trial(2e-4, 0.5)), *plan.changes()]):
        gain = round(9 + 4000 * trial.lr * 10) - trial.seed - 2 * (trial.load_in_4bit == "yes")
        found.append(outcome(trial, min(gain, 40), round(8 * trial.replay_share) - 5 + trial.seed))
    return findings(plan, *found)
