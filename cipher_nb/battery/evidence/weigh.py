"""The evidence: what the looks taken say of every category and of the composite, in numbers and in a word."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from cipher_nb.battery.evidence.betting import ERROR
from cipher_nb.battery.evidence.composite import composite_bound, composite_delta
from cipher_nb.battery.evidence.course import Asked, Course, Taken
from cipher_nb.battery.evidence.paired import Tally, holm, lower_bound, p_worse
from cipher_nb.battery.evidence.power import detectable_drop, samples_to_decide
from cipher_nb.battery.rule import MAX_DROP

Word = Literal["better", "not worse", "open", "worse"]


@dataclass(frozen=True)
class CategoryEvidence:
    """One category, paired per sample.

    `lower` and `upper` are one-sided 95 % bounds of the true delta that hold however often was looked; `p_worse` the
    exact probability of losses this heavy by chance alone, and `p_worse_holm` the same adjusted for the number of
    categories. `detectable_drop` is the smallest drop that this many samples show with 80 % power, None if they show
    none. `samples_to_decide` is about how many samples would settle the category if gains and losses stayed as
    frequent: n where it is settled, None if never. `word`: "not worse" rules out a drop of 0.05, "better" any drop;
    "worse" fell by 0.05 or more, and not by chance; "open" is neither.
    """

    category: str
    n: int
    gains: int
    losses: int
    delta: float
    lower: float
    upper: float
    p_worse: float
    p_worse_holm: float
    detectable_drop: float | None
    samples_to_decide: int | None
    word: Word


@dataclass(frozen=True)
class CompositeEvidence:
    """The plain mean over categories: its delta and the one-sided 95 % bounds of the true one."""

    delta: float
    lower: float
    upper: float


@dataclass(frozen=True)
class LookEvidence:
    """A look that was taken: after how many samples a category, and how many categories were open after it."""

    n: int
    level: float
    categories: int
    open: int


@dataclass(frozen=True)
class Evidence:
    """The paired evidence; without categories and composite where nothing could be compared."""

    categories: tuple[CategoryEvidence, ...] = ()
    composite: CompositeEvidence | None = None
    looks: tuple[LookEvidence, ...] = field(default=())

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def weigh(asked: Mapping[str, Asked], course: Course) -> Evidence:
    """Return the evidence behind `course`, on the samples its looks were about."""
    newest = {name: taken for taken in course.taken for name in taken.categories}
    tallies = {name: asked[name].first(taken.look.n) for name, taken in newest.items()}
    adjusted = holm({name: p_worse(tally) for name, tally in tallies.items()})
    return Evidence(
        categories=tuple(
            _category(name, tally, asked=asked[name], course=course, p_holm=adjusted[name], of=len(asked))
            for name, tally in tallies.items()
        ),
        composite=_composite(asked, course),
        looks=tuple(
            LookEvidence(taken.look.n, taken.look.level, len(taken.categories), len(taken.open))
            for taken in course.taken
        ),
    )


def _category(name: str, tally: Tally, *, asked: Asked, course: Course, p_holm: float, of: int) -> CategoryEvidence:
    looks = [(asked.first(taken.look.n), taken.look.level) for taken in course.taken if name in taken.categories]
    lower = max(lower_bound(each, level=level) for each, level in looks)
    changed = tally.gains + tally.losses
    return CategoryEvidence(
        category=name,
        n=tally.n,
        gains=tally.gains,
        losses=tally.losses,
        delta=float(tally.delta),
        lower=lower,
        upper=min(-lower_bound(each.mirrored(), level=level) for each, level in looks),
        p_worse=p_worse(tally),
        p_worse_holm=p_holm,
        detectable_drop=detectable_drop(n=tally.n, changed=changed / tally.n, level=ERROR / of),
        samples_to_decide=samples_to_decide(
            n=tally.n, gains=tally.gains, losses=tally.losses, margin=MAX_DROP, level=ERROR / of
        ),
        word=_word(name, course, lower),
    )


def _word(name: str, course: Course, lower: float) -> Word:
    if name in course.worse:
        return "worse"
    if name not in course.held:
        return "open"
    return "better" if lower > 0 else "not worse"


def _composite(asked: Mapping[str, Asked], course: Course) -> CompositeEvidence | None:
    whole = [taken for taken in course.taken if len(taken.categories) == len(asked)]
    if not whole:
        return None
    newest = _tallies(asked, whole[-1])
    return CompositeEvidence(
        delta=float(composite_delta(newest)),
        lower=max(_bounds(asked, whole, lambda tallies, level: composite_bound(tallies, level=level))),
        upper=min(_bounds(asked, whole, _from_above)),
    )


def _bounds(
    asked: Mapping[str, Asked], whole: Sequence[Taken], bound: Callable[[Sequence[Tally], float], float]
) -> list[float]:
    return [bound(_tallies(asked, taken), taken.look.level) for taken in whole]


def _from_above(tallies: Sequence[Tally], level: float) -> float:
    return -composite_bound([tally.mirrored() for tally in tallies], level=level)


def _tallies(asked: Mapping[str, Asked], taken: Taken) -> list[Tally]:
    return [each.first(taken.look.n) for each in asked.values()]
