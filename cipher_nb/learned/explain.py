"""Why a pattern is told to the model, and why another is not."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from cipher_nb.learned.rule import Ranking, Rule, rank, tallied
from cipher_nb.learned.votes import Tally
from cipher_nb.records import Event

Z_95 = 1.959963984540054
"""The normal quantile that leaves 2.5 % on either side."""


@dataclass(frozen=True)
class Explained:
    """A pattern with its votes, whether it enters, and why in one sentence.

    `wilson_low` is what its rate is at least, with 95 % confidence (two-sided). `newest` and `newest_id` are time and
    event of the newest vote, None and "" for a pin without votes.
    """

    pattern: str
    approved: int
    count: int
    rate: float
    wilson_low: float
    newest: datetime | None
    newest_id: str
    enters: bool
    why: str


def explain(
    events: Iterable[Event],
    *,
    min_count: int = 3,
    limit: int = 15,
    min_rate: float = 0.6,
    pins: Sequence[str] = (),
) -> list[Explained]:
    """Return every pattern among the votes that `learned` would look at: those that enter, by rank, then those nearest
    to it, then the rest. `events` and the thresholds are those of `learned`.
    """
    return explained(tallied(events), Rule(min_count, limit, min_rate, tuple(pins)))


def explained(tallies: Mapping[str, Tally], rule: Rule) -> list[Explained]:
    """Return why each of `tallies`, and each pin, enters or not, in the order of `explain`."""
    ranking = rank(tallies, rule)
    places = {tally.pattern: place for place, tally in enumerate(ranking.ranked, 1)}
    others = [tally for tally in tallies.values() if tally.pattern not in places]
    silent = [Tally(pattern) for pattern in ranking.contradicted if pattern not in tallies]
    others = sorted([*others, *silent], key=lambda tally: _distance(tally, rule, ranking))
    return [_explained(tally, rule, ranking, places.get(tally.pattern, 0)) for tally in [*ranking.ranked, *others]]


def wilson_low(approved: int, count: int) -> float:
    """Return the lower end of the 95 % Wilson score interval for approved / count; 0.0 without votes.

    E. B. Wilson, Probable Inference, JASA 22 (1927) 209-212; in the form of Brown, Cai and DasGupta, Interval
    Estimation for a Binomial Proportion, Statistical Science 16 (2001) 101-133, equation (4).
    """
    if not count:
        return 0.0
    rate, square = approved / count, Z_95**2
    middle = rate + square / (2 * count)
    spread = Z_95 * math.sqrt(rate * (1 - rate) / count + square / (4 * count**2))
    return max(0.0, (middle - spread) / (1 + square / count))


def _distance(tally: Tally, rule: Rule, ranking: Ranking) -> tuple[bool, int, float, int, str]:
    missing_votes = max(0, rule.min_count - tally.count)
    missing_rate = max(0.0, rule.min_rate - tally.rate)
    return (tally.pattern not in ranking.contradicted, missing_votes, missing_rate, -tally.approved, tally.pattern)


def _explained(tally: Tally, rule: Rule, ranking: Ranking, place: int) -> Explained:
    return Explained(
        pattern=tally.pattern,
        approved=tally.approved,
        count=tally.count,
        rate=tally.rate,
        wilson_low=wilson_low(tally.approved, tally.count),
        newest=tally.ts if tally.count else None,
        newest_id=tally.id,
        enters=0 < place <= rule.limit,
        why=_place(tally, rule, ranking, place) if place else _lack(tally, rule, ranking),
    )


def _place(tally: Tally, rule: Rule, ranking: Ranking, place: int) -> str:
    if place > rule.limit:
        return f"rank {place}, {rule.limit} enter"
    return "pinned" if tally.pattern in ranking.pinned else f"in, rank {place}"


def _lack(tally: Tally, rule: Rule, ranking: Ranking) -> str:
    winner = ranking.contradicted.get(tally.pattern)
    if winner is not None:
        both = winner in ranking.pinned and tally.pattern in ranking.pinned
        reason = "which is pinned later" if both else "which is pinned" if winner in ranking.pinned else ""
        return f"says the opposite of '{winner}', {reason or 'whose evidence is newer'}"
    lacks = []
    if tally.count < rule.min_count:
        lacks.append(f"{tally.count} of {rule.min_count} votes")
    if tally.rate < rule.min_rate:
        lacks.append(f"approved {tally.approved * 1000 // tally.count / 10:g} %, {rule.min_rate * 100:g} % is needed")
    return "; ".join(lacks)
