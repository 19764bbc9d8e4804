"""The learned lines of a log that grows: read from its end once, then only what was added."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Sequence
from itertools import islice
from typing import Any, Protocol

from cipher_nb.learned.explain import Explained, explained
from cipher_nb.learned.rule import LearnedLine, Ranking, Rule, learned_lines, rank
from cipher_nb.learned.votes import APPROVING, REJECTING, WINDOW, Tally, Window, votes
from cipher_nb.records import Event


class Tail(Protocol):
    """Where to read on from, and the events before that place, newest first."""

    @property
    def cursor(self) -> Any: ...
    @property
    def events(self) -> Iterable[Event]: ...


class Added(Protocol):
    """The events after a cursor, oldest first, and where to read on from; `afresh` when the log is another by now."""

    @property
    def cursor(self) -> Any: ...
    @property
    def events(self) -> Iterable[Event]: ...
    @property
    def afresh(self) -> bool: ...


class Log(Protocol):
    """What the view needs of the bus."""

    def tail(self, *, type: Collection[str], before: Any = None) -> Tail: ...
    def read_from(self, cursor: Any, /) -> Added: ...


class LearnedView:
    """The learned lines of a growing log. Thread-safe.

    Always what `learned` says of the whole log, at the cost of what was added since the last look, whatever the log's
    size; with nothing added the last answer is given again. After a purge it looks at the whole once more.
    """

    def __init__(self, log: Log, *, pins: Sequence[str] = ()) -> None:
        self._log = log
        self._pins = tuple(pins)
        self._lock = threading.Lock()
        self._cursor: Any = None
        self._window = Window()
        self._tallies: dict[str, Tally] = {}
        self._rankings: dict[tuple[int, float], Ranking] = {}

    def lines(self, *, min_count: int = 3, limit: int = 10, min_rate: float = 0.6) -> list[LearnedLine]:
        """Return what `learned` returns for the log as it is now."""
        with self._lock:
            self._look()
            return learned_lines(self._ranking(Rule(min_count, limit, min_rate, self._pins)), limit)

    def explain(self, *, min_count: int = 3, limit: int = 15, min_rate: float = 0.6) -> list[Explained]:
        """Return what `explain` returns for the log as it is now."""
        with self._lock:
            self._look()
            return explained(self._tallies, Rule(min_count, limit, min_rate, self._pins))

    def _look(self) -> None:
        for _ in range(3):  # a purge while the log is first read is rare, three of them do not happen
            if self._cursor is not None and self._follow():
                return
            self._begin()

    def _follow(self) -> bool:
        added = self._log.read_from(self._cursor)
        if added.afresh:
            return False
        fresh = list(votes(added.events))
        changed = {pattern for vote in fresh for pattern in self._window.add(vote)}
        if changed:
            kept = {pattern: tally for pattern, tally in self._tallies.items() if pattern not in changed}
            self._tallies = kept | self._window.tallies(changed)
            self._rankings = {}
        self._cursor = added.cursor
        return True

    def _begin(self) -> None:
        window, cursor = Window(), None
        # a tail for each kind: where one of them is rare, the lines of the other are passed over unparsed
        for approves, types in ((True, APPROVING), (False, REJECTING)):
            tail = self._log.tail(type=types, before=cursor)
            cursor = tail.cursor
            window.add_older(islice((vote for vote in votes(tail.events) if vote.approves is approves), WINDOW))
        self._window, self._cursor = window, cursor
        self._tallies, self._rankings = window.tallies(), {}

    def _ranking(self, rule: Rule) -> Ranking:
        key = (rule.min_count, rule.min_rate)
        if key not in self._rankings:
            self._rankings[key] = rank(self._tallies, rule)
        return self._rankings[key]
