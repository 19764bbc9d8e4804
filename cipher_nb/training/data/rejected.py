"""Rejected answers: what the operator turned down, to be learned from as answers not to give."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from cipher_nb.records import Event, Turn
from cipher_nb.training.data.history import histories
from cipher_nb.training.data.pairs import Collected, Pair, by_task, pair_from, rejected_after, vouching
from cipher_nb.training.data.screen import Dropped, screen

REJECTED = "rejected"
"""The source of such a pair: its response is one not to give."""


def collect_rejected(events: Iterable[Event], turns: Iterable[Turn]) -> Collected:
    """Return a pair for each task on which the operator's last word is a rejection, the oldest task first.

    Its response is the last proposal, or the last answer of a conversation, that was there to be rejected; its prompt
    is that of an approved pair, its events are the rejections. A revert or an undo is a rejection, an abort is none.
    What failed its checks on the way to an approved answer was not put before the operator and is left out.
    """
    turns_of = by_task(turns)
    pairs, dropped = [], []
    for task, history in histories(events).items():
        rejections = _last_rejections(history)
        outcome = _pair(rejections, turns_of.get(task, [])) if rejections else None
        if isinstance(outcome, Pair):
            pairs.append(outcome)
        elif outcome:
            dropped.append((task, outcome))
    return Collected(tuple(pairs), tuple(dropped))


def screen_rejected(
    rejected: Sequence[Pair], learned: Iterable[Pair], sealed_texts: Collection[str], *, secrets: Sequence[str] = ()
) -> tuple[list[Pair], list[Dropped]]:
    """Return the rejected pairs that may be learned from, in order, and (id, reason) of the others.

    They are screened like any pair, and go where a pair of `learned` gives the same answer to the same question.
    """
    ids = {_said(pair): pair.id for pair in learned}
    twice = [
        (pair.id, f"rejected, but also the answer of {ids[_said(pair)]}") for pair in rejected if _said(pair) in ids
    ]
    kept, dropped = screen([pair for pair in rejected if _said(pair) not in ids], sealed_texts, secrets=secrets)
    return kept, [*twice, *dropped]


def _last_rejections(history: Sequence[Event]) -> list[Event]:
    """Return the rejections that no approval or ship comes after."""
    vouched = vouching(history)
    rejections = [event for event in history if event.type == "rejection"]
    return [event for event in rejections if not vouched or rejected_after([event], vouched[-1])]


def _pair(rejections: Sequence[Event], turns: Sequence[Turn]) -> Pair | str:
    """Return the task's rejected pair, or why it has none."""
    shown = [turn for turn in turns if turn.ts <= rejections[-1].ts]
    if not shown:
        return "rejected without a transcript of the answer"
    found = pair_from(shown, rejections, source=REJECTED)
    return f"rejected, but {found}" if isinstance(found, str) else found


def _said(pair: Pair) -> tuple[str, str]:
    """Return what was asked and answered; the system text changes from day to day and says nothing of either."""
    return pair.user_text, pair.response.strip()
