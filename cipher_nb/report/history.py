"""What happened: the bus in one sentence, and as a timeline that stays readable with a million events."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from cipher_nb.records import EVENT_FIELDS
from cipher_nb.report.picture import LIGHT, Look, Picture, empty_figure, new_figure, verbatim
from cipher_nb.report.plain import day, one_line
from cipher_nb.report.spans import Bins, dated, days, milliseconds, time_axis
from cipher_nb.report.words import Sentence

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

ROW_IN = 0.4
MARKS_SHOWN = 300
LEAST_TOP = 4
"""Where a row's scale ends at the least, so that a single event is no tower."""
TYPES_SHOWN = 12
NAME_CHARS = 24
WELCOME = frozenset({"approval", "ship"})
UNWELCOME = frozenset({"rejection", "abort", "error"})


def overview(events: pd.DataFrame, *, skipped: int = 0) -> Sentence:
    """Return in words how many events there are, from when to when and of what types, and what could not be read."""
    happened = dated(events)
    counted = ", ".join(_counted(rows.sum(), kind) for kind, rows in _by_type(events))
    said = [f"{_counted(len(events), 'event')}{_period(happened)}{': ' if counted else ''}{counted}"]
    if len(happened) < len(events):
        said.append(f"{len(events) - len(happened):,} without a time, left out where time is an axis")
    if skipped:
        said.append(f"{skipped:,} torn or foreign line{'s' if skipped > 1 else ''} passed over")
    return Sentence("; ".join(said) + ".")


def _counted(count: int, kind: str) -> str:
    ending = "s" if count != 1 and kind in ("event", *EVENT_FIELDS) else ""
    return f"{count:,} {kind}{ending}"


def _period(events: pd.DataFrame) -> str:
    if events.empty:
        return ""
    first, last = day(events["ts"].min()), day(events["ts"].max())
    return f" on {first}" if first == last else f" from {first} to {last}"


def _by_type(events: pd.DataFrame) -> list[tuple[str, NDArray[np.bool_]]]:
    """Return for every type which rows are of it: the bus's own types first, in their order; too many others as one."""
    kinds = events["type"]
    counts = {str(kind): int(count) for kind, count in kinds.value_counts().items() if count}
    others = sorted(counts.keys() - EVENT_FIELDS.keys(), key=lambda kind: (-counts[kind], kind))
    ordered = [*filter(counts.__contains__, EVENT_FIELDS), *others]
    shown = ordered if len(ordered) <= TYPES_SHOWN else ordered[: TYPES_SHOWN - 1]
    rows = [(one_line(kind, NAME_CHARS), (kinds == kind).to_numpy()) for kind in shown]
    rest = ordered[len(shown) :]
    if rest:
        rows.append((f"others ({len(rest):,} types)", kinds.isin(rest).to_numpy()))
    return rows


def timeline_chart(events: pd.DataFrame, look: Look = LIGHT) -> Figure:
    """Return a row for every type: a mark for every event, or where there are many a bar for every stretch of time."""
    happened = dated(events)
    if happened.empty:
        return empty_figure(look, "no events yet" if events.empty else "no event tells when it happened")
    times, rows = milliseconds(happened), _by_type(happened)
    bins = _bins(times)
    figure, axes = new_figure(look, 0.7 + ROW_IN * len(rows))
    for place, (kind, chosen) in enumerate(rows):
        colour = look.bad if kind in UNWELCOME else look.good if kind in WELCOME else look.muted
        note = f"{chosen.sum():,}"
        if bins is None:
            _marks(axes, place, times[chosen], colour)
        else:
            counts = bins.counted(times[chosen])
            _bars(axes, place, bins, counts, colour)
            note += "" if look.narrow else f", max {counts.max():,}"
        _note(axes, place, note, look)
    axes.set_yticks(range(len(rows)), [kind for kind, _ in rows])
    for label in axes.get_yticklabels():
        verbatim(label).set_color(look.ink)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    if bins is None:
        axes.yaxis.grid(True, color=look.grid, linewidth=0.8)
    time_axis(axes, bins.ends_ms if bins else (int(times.min()), int(times.max())), look)
    return figure


def _bins(times: NDArray[np.int64]) -> Bins | None:
    return Bins.over(times) if len(times) > MARKS_SHOWN else None


def _marks(axes: Axes, place: int, times: NDArray[np.int64], colour: str) -> None:
    axes.plot(days(times), np.full(len(times), place), "|", ms=13, mew=1.6, alpha=0.75, color=colour)


def _bars(axes: Axes, place: int, bins: Bins, counts: NDArray[np.int64], colour: str) -> None:
    floor, heights = place + 0.4, 0.8 * counts / max(LEAST_TOP, counts.max())
    axes.fill_between(days(bins.edges_ms), floor - np.append(heights, 0), floor, step="post", color=colour, lw=0)


def _note(axes: Axes, place: int, text: str, look: Look) -> None:
    axes.annotate(text, (1, place), xycoords=("axes fraction", "data"), xytext=(8, 0), textcoords="offset points",
                  va="center", fontsize=10, color=look.muted)  # fmt: skip


def timeline_picture(events: pd.DataFrame) -> Picture:
    """Return the timeline with its words."""
    happened = dated(events)
    said = ", ".join(_counted(rows.sum(), kind) for kind, rows in _by_type(happened))
    return Picture(
        draw=partial(timeline_chart, events),
        alt=f"Events by type over time: {said or 'none yet'}.",
        caption="" if happened.empty else _caption(happened),
    )


def _caption(events: pd.DataFrame) -> str:
    bins = _bins(milliseconds(events))
    if bins is None:
        return "A mark for every event, in UTC; the number is how many there are."
    return (
        f"Bars count events per {bins.unit} (UTC), each row on a scale of its own. The numbers are how many there are "
        "in all, and in the highest bar."
    )
