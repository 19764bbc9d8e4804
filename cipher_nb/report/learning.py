"""What is being learned, and what nearly is: tables with the votes behind every pattern."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from cipher_nb.learned import Explained
from cipher_nb.learned.rule import Rule
from cipher_nb.records import UNDATED
from cipher_nb.report.plain import day, one_line
from cipher_nb.report.tables import Table

if TYPE_CHECKING:
    import pandas as pd

PATTERN_CHARS = 120
MISSED_SHOWN = 12
QUALIFIED_SHOWN = 4
"""How many that the cap, and how many that an opposite keeps out are shown, so that all reasons are seen."""

_WORDS = {"approval": "approved", "rejection": "rejected", "prefer": "preferred", "avoid": "to be avoided"}


def learned_table(reasons: Sequence[Explained], events: pd.DataFrame, *, dropped: Collection[str] = ()) -> Table:
    """Return the patterns that enter, best first, with their votes and the newest evidence as `events` tells it.

    `dropped` are the scaffold's lines that found no room in its budget.
    """
    entering = [reason for reason in reasons if reason.enters]
    evidence = _evidence(events, {reason.newest_id for reason in entering})
    without_room = {line.removeprefix("[learned] ") for line in dropped}
    return Table(
        head=("Learned", "For", "Votes", "Rate", "At least", "Newest evidence", "Next prompt"),
        rows=[
            (*_votes(reason), _newest(reason, evidence), "no room" if reason.pattern in without_room else "in")
            for reason in entering
        ],
        empty=f"Nothing has been approved {Rule().min_count} times yet.",
    )


def missed_table(reasons: Sequence[Explained]) -> Table:
    """Return the patterns that do not enter, each with the reason: what qualifies first, then the nearest first."""
    missed = [reason for reason in reasons if not reason.enters]
    capped = [reason for reason in missed if reason.why.startswith("rank ")]
    contradicted = [reason for reason in missed if reason.why.startswith("says the opposite ")]
    lacking = [reason for reason in missed if reason not in (*capped, *contradicted)]
    shown = [*capped[:QUALIFIED_SHOWN], *contradicted[:QUALIFIED_SHOWN], *lacking][:MISSED_SHOWN]
    rows = [(*_votes(reason), reason.why.replace(" %", "%")) for reason in shown]
    if len(shown) < len(missed):
        rows.append((f"{len(missed) - len(shown):,} more", "", "", "", "", ""))
    return Table(
        head=("Nearly learned", "For", "Votes", "Rate", "At least", "Why not"),
        rows=rows,
        empty="No pattern is waiting for more votes.",
    )


def _votes(reason: Explained) -> tuple[str, ...]:
    pattern = one_line(reason.pattern, PATTERN_CHARS)
    if not reason.count:
        return pattern, "0", "0", "–", "–"
    return pattern, f"{reason.approved:,}", f"{reason.count:,}", f"{reason.rate:.0%}", f"{reason.wilson_low:.0%}"


def _evidence(events: pd.DataFrame, ids: Collection[str]) -> dict[str, str]:
    """Return what the events with these ids say, in words."""
    rows = events[events["id"].isin([name for name in ids if name])]
    said = {}
    for name, kind, direction, summary in zip(
        rows["id"], rows["type"], rows["direction"], rows["summary"], strict=True
    ):
        word = _WORDS.get(direction if kind == "preference" else kind, "")
        said[name] = word + (f": {one_line(summary, 48)}" if isinstance(summary, str) and summary else "")
    return said


def _newest(reason: Explained, evidence: dict[str, str]) -> str:
    if reason.newest is None:
        return "pinned"
    when = day(reason.newest) if reason.newest > UNDATED else "no time"
    said = evidence.get(reason.newest_id, "")
    return f"{when}, {said}" if said else when
