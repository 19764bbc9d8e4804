"""The rule: which patterns are told to the model, and in which order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from cipher_nb.learned.opposites import contradicted
from cipher_nb.learned.plain import plain_pattern
from cipher_nb.learned.votes import Tally, Window, votes
from cipher_nb.records import Event


@dataclass(frozen=True)
class LearnedLine:
    """A pattern that was voted on `count` times, `approved` of them for it; `rate` is approved / count.

    A pinned one may have no votes: `newest` is 1970 then.
    """

    pattern: str
    approved: int
    count: int
    rate: float
    newest: datetime
    pinned: bool = False

    @property
    def line(self) -> str:
        return f"[learned] {self.pattern}"

    def to_json(self) -> dict[str, Any]:
        """Return what the command line and the endpoint tell of it."""
        return {name: getattr(self, name) for name in ("pattern", "approved", "count", "rate", "line")}


@dataclass(frozen=True)
class Rule:
    """What a pattern needs, and how many enter; pins need nothing and come first, in the order written."""

    min_count: int = 3
    limit: int = 15
    min_rate: float = 0.6
    pins: tuple[str, ...] = ()

    def is_met_by(self, tally: Tally) -> bool:
        return tally.count >= self.min_count and tally.rate >= self.min_rate


@dataclass(frozen=True)
class Ranking:
    """All that may enter, best first, `pinned` of them first; the first `limit` do.

    `contradicted` holds what else would qualify but says the opposite, with the pattern that it says the opposite of.
    """

    ranked: Sequence[Tally]
    pinned: frozenset[str]
    contradicted: Mapping[str, str]


def learned(
    events: Iterable[Event],
    *,
    min_count: int = 3,
    limit: int = 15,
    min_rate: float = 0.6,
    pins: Sequence[str] = (),
) -> list[LearnedLine]:
    """Return the patterns worth telling the model, best first.

    Takes events newest first, as `Bus.read_state` returns them, and looks at the first 500 approvals and the first 500
    rejections; a preference is an approval (`prefer`) or a rejection (`avoid`). Order: pins, then approvals, then the
    time of the newest vote, then text. Of two patterns that say the opposite only one enters: the pinned one, of two
    pins the later, else the one approved last.
    """
    rule = Rule(min_count, limit, min_rate, tuple(pins))
    return learned_lines(rank(tallied(events), rule), limit)


def tallied(events: Iterable[Event]) -> dict[str, Tally]:
    """Return what the votes among `events` (newest first) that count add up to, by pattern."""
    window = Window()
    window.add_older(votes(events))
    return window.tallies()


def rank(tallies: Mapping[str, Tally], rule: Rule) -> Ranking:
    """Return what qualifies by the rule, in order, without what says the opposite of something stronger."""
    pins = list(dict.fromkeys(filter(None, map(plain_pattern, rule.pins))))
    pinned = frozenset(pins)
    voted = [tally for tally in tallies.values() if tally.pattern not in pinned and rule.is_met_by(tally)]
    voted.sort(key=lambda tally: (tally.recency, tally.pattern), reverse=True)
    lost = contradicted([*reversed(pins), *(tally.pattern for tally in voted)])
    voted.sort(key=lambda tally: tally.pattern)
    voted.sort(key=lambda tally: (tally.approved, tally.ts), reverse=True)
    everything = [*(tallies.get(pin) or Tally(pin) for pin in pins), *voted]
    return Ranking([tally for tally in everything if tally.pattern not in lost], pinned, lost)


def learned_lines(ranking: Ranking, limit: int) -> list[LearnedLine]:
    """Return the best `limit` of a ranking."""
    return [
        LearnedLine(tally.pattern, tally.approved, tally.count, tally.rate, tally.ts, tally.pattern in ranking.pinned)
        for tally in ranking.ranked[:limit]
    ]
