"""The answers that a night made better or worse, beside the questions they answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from cipher_nb.battery.families import CATEGORIES, sealed
from cipher_nb.battery.samples import Sample
from cipher_nb.errors import BatteryError
from cipher_nb.report.view import Answer, NightView, number


@dataclass(frozen=True)
class Changed:
    """An answer that changed; `question` and `target` are "" for samples that the battery no longer holds."""

    answer: Answer
    question: str = ""
    target: str = ""


def changed_answers(view: NightView, limit: int = 5) -> tuple[list[Changed], list[Changed]]:
    """Return the worst regressions and the best gains, at most `limit` of each, taking turns over the categories."""
    worse = _spread((answer for answer in view.answers if answer.delta < 0), limit)
    better = _spread((answer for answer in view.answers if answer.delta > 0), limit)
    asked = _asked(view, {answer.category for answer in (*worse, *better)})
    return [_changed(answer, asked) for answer in worse], [_changed(answer, asked) for answer in better]


def _spread(answers: Iterable[Answer], limit: int) -> list[Answer]:
    turns: Counter[str] = Counter()
    ranked = []
    for answer in sorted(answers, key=lambda each: (-abs(each.delta), each.sample)):
        turns[answer.category] += 1
        ranked.append((-abs(answer.delta), turns[answer.category], answer))
    return [answer for *_, answer in sorted(ranked, key=lambda row: row[:2])[:limit]]


def _asked(view: NightView, categories: Iterable[str]) -> dict[str, Sample]:
    count, seed = number(view.asked, "per_category"), number(view.asked, "seed")
    if count is None or seed is None:
        return {}
    try:
        drawn = [sealed(name, int(count), seed=int(seed)) for name in categories if name in CATEGORIES]
    except BatteryError:
        return {}
    return {sample.id: sample for samples in drawn for sample in samples}


def _changed(answer: Answer, asked: dict[str, Sample]) -> Changed:
    sample = asked.get(answer.sample)
    return Changed(answer, sample.user_text, sample.target) if sample else Changed(answer)
