"""The answers that a night made better or worse, beside the questions they answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from cipher_nb.battery.families import sealed
from cipher_nb.battery.own import read_own
from cipher_nb.battery.samples import Sample
from cipher_nb.errors import BatteryError
from cipher_nb.paths import Paths, find_workspace
from cipher_nb.report.deltas import deltas
from cipher_nb.report.difference import marked
from cipher_nb.report.plain import one_line, plain, score
from cipher_nb.report.view import Answer, NightView, listed, number, section

QUESTION_CHARS = 600
ANSWER_CHARS = 400
_SIDES = "display:grid;grid-template-columns:repeat(auto-fit,minmax(min(13rem,100%),1fr));gap:.6rem 2rem"
_PRE = (
    "font-family:var(--jp-code-font-family,var(--mono,monospace));white-space:pre-wrap;overflow-wrap:anywhere;"
    "word-break:normal;margin:.2em 0 0;background:none;padding:0"
)
_QUIET = "opacity:.72"


@dataclass(frozen=True)
class Changed:
    """An answer that changed; `question` and `target` are "" for samples that the battery no longer holds.

    `must_pass` tells that the operator had pinned this sample, `baseline` what the candidate was compared with.
    """

    answer: Answer
    question: str = ""
    target: str = ""
    must_pass: bool = False
    baseline: str = "production"

    def html(self) -> str:
        """Return question, right answer and both answers, with what differs between them marked."""
        before, after = marked(
            plain(self.answer.production_answer, ANSWER_CHARS), plain(self.answer.candidate_answer, ANSWER_CHARS)
        )
        sides = [
            _side(escape(plain(self.baseline, 24).capitalize()), f"scored {score(self.answer.production)}", before),
            _side("Candidate", f"scored {score(self.answer.candidate)}", after),
        ]
        if self.target:
            sides.append(_side("Right answer", "", escape(plain(self.target, ANSWER_CHARS))))
        pinned = " <strong>must pass</strong>" if self.must_pass else ""
        question = f'<pre style="{_PRE};{_QUIET}"><bdi>{escape(plain(self.question, QUESTION_CHARS))}</bdi></pre>'
        grid = f'<div style="{_SIDES};margin-top:.6rem">{"".join(sides)}</div>'
        return (
            '<article style="margin-top:1rem;padding-top:.8rem;border-top:1px solid #8886">'
            f'<h4 style="margin:0">{escape(plain(self.answer.category, 60))}'
            f' <small style="{_QUIET};font-weight:400">{escape(plain(self.answer.sample, 80))}</small>{pinned}</h4>'
            f"{question if self.question else ''}{grid}</article>"
        )


@dataclass(frozen=True)
class ChangedAnswers:
    """Changed answers, the one to look at first in front; Jupyter shows them as HTML, a terminal as lines."""

    rows: Sequence[Changed]
    empty: str = ""

    def html(self) -> str:
        return "".join(row.html() for row in self.rows) or f"<p>{escape(self.empty)}</p>"

    def _repr_html_(self) -> str:
        return self.html()

    def __repr__(self) -> str:
        lines = (
            f"{row.answer.sample}: {one_line(row.answer.production_answer)!r} -> "
            f"{one_line(row.answer.candidate_answer)!r}"
            for row in self.rows
        )
        return "\n".join(lines) or self.empty


def regressions(view: NightView, limit: int = 10) -> ChangedAnswers:
    """Return the worst regressions: lost must-pass samples first, then the biggest falls.

    Falls of one size take turns over the categories, the worst category first.
    """
    pinned = set(map(str, listed(section(view.gate, "must_pass"), "lost")))
    worse = _spread(view, (answer for answer in view.answers if answer.delta < 0), limit, pinned)
    return ChangedAnswers(_with_questions(view, worse, pinned), empty=_none(view, "worse"))


def improvements(view: NightView, limit: int = 10) -> ChangedAnswers:
    """Return the biggest gains, taking turns over the categories."""
    better = _spread(view, (answer for answer in view.answers if answer.delta > 0), limit)
    return ChangedAnswers(_with_questions(view, better), empty=_none(view, "better"))


def _none(view: NightView, way: str) -> str:
    return f"No answer got {way}." if view.answers else "There are no answers of both sides to compare."


def _spread(view: NightView, answers: Iterable[Answer], limit: int, first: Collection[str] = ()) -> list[Answer]:
    order = {row.category: place for place, row in enumerate(deltas(view))}
    turns: Counter[str] = Counter()
    ranked = []
    for answer in sorted(answers, key=lambda each: (each.sample not in first, -abs(each.delta), each.sample)):
        turns[answer.category] += 1
        turn = (turns[answer.category], order.get(answer.category, len(order)))
        ranked.append((answer.sample not in first, -abs(answer.delta), *turn, answer))
    return [row[-1] for row in sorted(ranked, key=lambda row: row[:-1])[:limit]]


def _with_questions(view: NightView, answers: Sequence[Answer], pinned: Collection[str] = ()) -> list[Changed]:
    asked = _asked(view, {answer.category for answer in answers})
    return [_changed(answer, asked, answer.sample in pinned, view.baseline) for answer in answers]


def _asked(view: NightView, categories: Collection[str]) -> dict[str, Sample]:
    samples = [sample for sample in _own(view.folder) if sample.category in categories]
    count, seed = number(view.asked, "per_category"), number(view.asked, "seed")
    if count is not None and seed is not None:
        samples += [sample for name in categories for sample in _drawn(name, int(count), int(seed))]
    return {sample.id: sample for sample in samples}


def _drawn(category: str, count: int, seed: int) -> list[Sample]:
    try:
        return sealed(category, count, seed=seed)
    except BatteryError:  # the battery has changed since
        return []


def _own(night: Path) -> Sequence[Sample]:
    root = find_workspace(night)
    try:
        return read_own(Paths(root).battery) if root else ()
    except BatteryError:
        return ()


def _changed(answer: Answer, asked: Mapping[str, Sample], must_pass: bool, baseline: str) -> Changed:
    sample = asked.get(answer.sample)
    question, target = (sample.user_text, sample.reference or sample.target) if sample else ("", "")
    return Changed(answer, question, target, must_pass, baseline)


def _side(name: str, note: str, content: str) -> str:
    small = f' <small style="{_QUIET};font-weight:400">{note}</small>' if note else ""
    text = content or f'<span style="{_QUIET}">(no text)</span>'
    return f'<div><h5 style="margin:0">{name}{small}</h5><pre style="{_PRE}"><bdi>{text}</bdi></pre></div>'
