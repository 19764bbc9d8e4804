"""What the bus tells: what happened when, what is being learned, and how often the operator agrees."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING

from cipher_nb.learned import LearnedLine, learned
from cipher_nb.records import EVENT_FIELDS, UNDATED, Event
from cipher_nb.report.picture import LIGHT, Look, Picture, empty_figure, new_figure, verbatim
from cipher_nb.report.plain import day, plain
from cipher_nb.report.tables import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MIN_COUNT = 3
MIN_RATE = 0.6
WINDOW = 20
TYPES_SHOWN = 12
UNWELCOME = frozenset({"rejection", "abort", "error"})


def learned_table(lines: Iterable[LearnedLine]) -> Table:
    """Return the learned lines with the votes behind them, in their order."""
    return Table(
        head=("Learned", "Approved", "Votes", "Rate", "Newest"),
        rows=[
            (plain(line.pattern, 140), f"{line.approved:,}", f"{line.count:,}", f"{line.rate:.0%}", day(line.newest))
            for line in lines
        ],
        empty=f"Nothing has been approved {MIN_COUNT} times yet.",
    )


def nearly_learned(events: Iterable[Event], limit: int = 10) -> list[tuple[LearnedLine, str]]:
    """Return the patterns that just miss being learned, nearest first, each with what it lacks."""
    seen = learned(events, min_count=1, limit=1_000, min_rate=0.0)
    missed = [(line, lack) for line in seen if (lack := _lack(line))]
    missed.sort(key=lambda row: (max(0, MIN_COUNT - row[0].count), max(0.0, MIN_RATE - row[0].rate)))
    return missed[:limit]


def _lack(line: LearnedLine) -> str:
    lacks = []
    if line.count < MIN_COUNT:
        more = MIN_COUNT - line.count
        lacks.append(f"{more} more vote{'s' if more > 1 else ''}")
    if line.rate < MIN_RATE:
        lacks.append(f"approved {line.rate:.0%} of the time, {MIN_RATE:.0%} is needed")
    return "; ".join(lacks)


def nearly_table(events: Iterable[Event], limit: int = 10) -> Table:
    """Return the patterns that just miss being learned, for people to read."""
    return Table(
        head=("Nearly learned", "Approved", "Votes", "What it lacks"),
        rows=[
            (plain(line.pattern, 140), f"{line.approved:,}", f"{line.count:,}", lack)
            for line, lack in nearly_learned(events, limit)
        ],
        empty="No pattern is waiting for more votes.",
    )


def timeline_chart(events: Sequence[Event], look: Look = LIGHT) -> Figure:
    """Return a mark for every event, a row for every type; events without a time are left out."""
    rows = _by_type(events)
    if not rows:
        return empty_figure(look, "no events yet")
    figure, axes = new_figure(look, 0.7 + 0.36 * len(rows))
    for place, (kind, moments) in enumerate(rows.items()):
        colour = look.bad if kind in UNWELCOME else look.good if kind in ("approval", "ship") else look.muted
        axes.plot(_drawable(moments), [place] * len(moments), "|", ms=13, mew=1.6, alpha=0.75, color=colour)
        axes.annotate(f"{len(moments):,}", (1, place), xycoords=("axes fraction", "data"), xytext=(8, 0),
                      textcoords="offset points", va="center", fontsize=10, color=look.muted)  # fmt: skip
    axes.set_yticks(range(len(rows)), [plain(kind, 24) for kind in rows])
    for label in axes.get_yticklabels():
        verbatim(label).set_color(look.ink)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.yaxis.grid(True, color=look.grid, linewidth=0.8)
    _time_axis(axes, [moment for moments in rows.values() for moment in moments], look)
    return figure


def _by_type(events: Iterable[Event]) -> dict[str, list[datetime]]:
    dated = [event for event in events if event.ts > UNDATED]
    known = [kind for kind in EVENT_FIELDS if any(event.type == kind for event in dated)]
    others = [kind for kind, _ in Counter(event.type for event in dated).most_common() if kind not in EVENT_FIELDS]
    kinds = [*known, *others][:TYPES_SHOWN]
    return {kind: [event.ts for event in dated if event.type == kind] for kind in kinds}


def timeline_picture(events: Sequence[Event]) -> Picture:
    """Return the timeline with its words."""
    said = ", ".join(f"{len(moments)} {plain(kind, 24)}" for kind, moments in _by_type(events).items())
    return Picture(
        draw=partial(timeline_chart, events),
        alt=f"Events by type over time: {said or 'none yet'}.",
        caption="A mark for every event; the number is how many there are.",
    )


def approval_rate(events: Iterable[Event], window: int = WINDOW) -> list[tuple[datetime, float]]:
    """Return after every approval or rejection which share of the last `window` were approvals, oldest first."""
    votes = sorted(
        ((event.ts, event.type == "approval") for event in events if event.type in ("approval", "rejection")),
        key=lambda vote: vote[0],
    )
    votes = [vote for vote in votes if vote[0] > UNDATED]
    rates = []
    for place, (moment, _) in enumerate(votes):
        recent = [approved for _, approved in votes[max(0, place + 1 - window) : place + 1]]
        rates.append((moment, sum(recent) / len(recent)))
    return rates


def approval_chart(events: Sequence[Event], look: Look = LIGHT) -> Figure:
    """Return how the share of approvals moved, against what a pattern needs to be learned."""
    rates = approval_rate(events)
    if not rates:
        return empty_figure(look, "nothing was approved or rejected yet")
    figure, axes = new_figure(look, 2.5)
    moments = [moment for moment, _ in rates]
    axes.axhline(MIN_RATE, color=look.bad, linewidth=1.2, linestyle=(0, (4, 3)))
    axes.annotate(f"{MIN_RATE:.0%}: what a pattern needs", (0, MIN_RATE), xycoords=("axes fraction", "data"),
                  xytext=(4, -11), textcoords="offset points", fontsize=9.5, color=look.bad)  # fmt: skip
    axes.plot(_drawable(moments), [rate for _, rate in rates], "o-", ms=3.5, linewidth=1.8, color=look.good)
    axes.set_ylim(-0.03, 1.05)
    axes.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0%", "25%", "50%", "75%", "100%"])
    axes.yaxis.grid(True, color=look.grid, linewidth=0.8)
    _time_axis(axes, moments, look)
    return figure


def approval_picture(events: Sequence[Event]) -> Picture:
    """Return the approval rate with its words."""
    rates = approval_rate(events)
    said = f"{rates[-1][1]:.0%} of the last {min(WINDOW, len(rates))} decisions" if rates else "no decision yet"
    return Picture(
        draw=partial(approval_chart, events),
        alt=f"Share of approvals over time: {said}.",
        caption=f"Share of approvals among the last {WINDOW} decisions.",
    )


def _drawable(moments: Iterable[datetime]) -> list[float]:
    from matplotlib.dates import date2num

    return [float(date2num(moment)) for moment in moments]


def _time_axis(axes: Axes, moments: Sequence[datetime], look: Look) -> None:
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

    first, last = min(moments), max(moments)
    margin = max((last - first) * 0.02, timedelta(minutes=30))
    axes.set_xlim(*_drawable((first - margin, last + margin)))
    locator = AutoDateLocator(maxticks=5 if look.narrow else 8)
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(ConciseDateFormatter(locator))
    axes.xaxis.get_offset_text().set(color=look.muted, fontsize=9.5)
