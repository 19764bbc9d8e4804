"""Votes, and the window of the newest ones that the rule looks at."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime

from cipher_nb.learned.plain import plain_pattern
from cipher_nb.records import UNDATED, Event

WINDOW = 500
APPROVING = ("approval", "preference")
REJECTING = ("rejection", "preference")


@dataclass(frozen=True, slots=True)
class Vote:
    """What one event says about a pattern."""

    pattern: str
    approves: bool
    ts: datetime
    id: str


@dataclass(slots=True)
class Tally:
    """The votes of one pattern. `ts` and `id` are those of its newest vote.

    `recency` tells whose newest approving vote is newer: by time, at one time by place in the log.
    """

    pattern: str
    approved: int = 0
    count: int = 0
    ts: datetime = UNDATED
    id: str = ""
    recency: tuple[datetime, int] = (UNDATED, -1)

    @property
    def rate(self) -> float:
        return self.approved / self.count if self.count else 0.0


@dataclass
class Window:
    """The newest 500 approving and the newest 500 rejecting votes, by the log's own order, oldest first."""

    approving: deque[Vote] = field(default_factory=deque)
    rejecting: deque[Vote] = field(default_factory=deque)
    _fallen: int = 0  # approving votes that fell out, so that a place once given stays

    def add(self, vote: Vote) -> set[str]:
        """Take in a vote newer than all others; return whose votes changed: one of its kind falls out for it."""
        side = self.approving if vote.approves else self.rejecting
        side.append(vote)
        if len(side) <= WINDOW:
            return {vote.pattern}
        self._fallen += vote.approves
        return {vote.pattern, side.popleft().pattern}

    def add_older(self, votes: Iterable[Vote]) -> None:
        """Take in votes older than all others, newest first, until there is room for no more of either kind."""
        for vote in votes:
            side = self.approving if vote.approves else self.rejecting
            if len(side) < WINDOW:
                side.appendleft(vote)
            if len(self.approving) == len(self.rejecting) == WINDOW:
                return

    def tallies(self, only: Collection[str] | None = None) -> dict[str, Tally]:
        """Return what the votes add up to, by pattern: all patterns or some; votes without a pattern are left out."""
        found: dict[str, Tally] = {}
        for vote in self.rejecting:
            if only is None or vote.pattern in only:
                _count(found, vote)
        for place, vote in enumerate(self.approving, self._fallen):
            if only is None or vote.pattern in only:
                tally = _count(found, vote)
                tally.approved += 1
                tally.recency = max(tally.recency, (vote.ts, place))
        found.pop("", None)
        return found


def _count(found: dict[str, Tally], vote: Vote) -> Tally:
    tally = found.get(vote.pattern)
    if tally is None:
        tally = found[vote.pattern] = Tally(vote.pattern)
    if tally.count == 0 or (vote.ts, vote.id) > (tally.ts, tally.id):
        tally.ts, tally.id = vote.ts, vote.id
    tally.count += 1
    return tally


def votes(events: Iterable[Event]) -> Iterator[Vote]:
    """Yield what the events say about patterns, in their order; a preference counts by its direction."""
    for event in events:
        approves = _approves(event)
        if approves is not None:
            yield Vote(plain_pattern(event.pattern), approves, event.ts, event.id)


def _approves(event: Event) -> bool | None:
    if event.type == "preference":
        return {"prefer": True, "avoid": False}.get(str(event.fields.get("direction")))
    return {"approval": True, "rejection": False}.get(event.type)
