"""Asking two adapters the same questions, a look at a time, until enough is known or the time is up."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cipher_nb.battery.evidence.course import Answers, Course, follow
from cipher_nb.battery.evidence.looks import plan
from cipher_nb.battery.gate import answers
from cipher_nb.battery.results import Results, shared
from cipher_nb.engine.steady import SteadyServers
from cipher_nb.night.folder import NightFolder, Progress
from cipher_nb.night.measure import ShouldStop, measure
from cipher_nb.night.parts import Parts
from cipher_nb.night.questions import Questions

SIDES = ("production", "candidate")
NOTHING = Results(None, ())


@dataclass(frozen=True)
class Compared:
    """The answers of both sides to the same samples, and what it cost to get them.

    `in_time` is False where the time was up before everything was decided.
    """

    production: Results
    candidate: Results
    spent: Mapping[str, Any]
    in_time: bool


@dataclass(frozen=True)
class Comparison:
    """Two adapters that the servers hold, what they are asked, and when to stop."""

    parts: Parts
    folder: NightFolder
    model: SteadyServers
    adapters: Mapping[str, str]
    asked: Questions
    should_stop: ShouldStop

    def run(self) -> Compared:
        """Ask look after look. Raises NightStoppedError when the operator comes back."""
        started = time.monotonic()
        deadline = started + 60 * self.parts.config.battery.minutes
        looks = plan(max(self.asked.sizes.values()))
        wanted = dict.fromkeys(self.asked.categories, 0)
        course = Course(ask=dict.fromkeys(self.asked.categories, looks[0].n))
        sides = NOTHING, NOTHING
        while course.ask and time.monotonic() < deadline:
            wanted |= course.ask
            sides, before = self._ask(wanted, number=len(course.taken) + 1, deadline=deadline), len(course.taken)
            course = follow(self._answers(*sides), looks)
            if len(course.taken) == before:  # some could not be scored, and would not be the next time either
                break
        in_time = not course.ask or time.monotonic() < deadline
        return Compared(*sides, spent=self._spent(sides[1], course, started), in_time=in_time)

    def _answers(self, production: Results, candidate: Results) -> dict[str, Answers]:
        pinned = self.asked.pinned
        return answers(production.without(pinned), candidate.without(pinned), sizes=self.asked.sizes)

    def _ask(self, wanted: Mapping[str, int], *, number: int, deadline: float) -> tuple[Results, Results]:
        samples = [*self.asked.first(wanted), *self.asked.must_pass]
        results = [
            measure(
                self.parts,
                self.model,
                self.adapters[side],
                samples,
                on_progress=Progress(self.folder, f"battery of {side}, look {number}"),
                should_stop=self.should_stop,
                enough=lambda: time.monotonic() > deadline,
            )
            for side in SIDES
        ]
        return shared(results[0], results[1])

    def _spent(self, candidate: Results, course: Course, started: float) -> dict[str, Any]:
        return {
            "asked": len(candidate.without(self.asked.pinned).rows),
            "planned": sum(self.asked.sizes.values()),
            "looks": [{"n": taken.look.n, "open": len(taken.open)} for taken in course.taken],
            "seconds": round(time.monotonic() - started, 1),
        }
