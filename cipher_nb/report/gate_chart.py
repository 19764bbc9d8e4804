"""The gates that fail most and take longest, as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from cipher_nb.report.gates import NAME_CHARS, Gate, gates, seconds, share
from cipher_nb.report.picture import LIGHT, Look, Picture, empty_figure, new_figure, quieten, verbatim
from cipher_nb.report.plain import one_line

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ROW_IN = 0.52
GATES_DRAWN = 8
LEAST_S = 0.001
"""Where the logarithmic axis begins; a gate that took 0 ms stands there."""


def gates_chart(worst: Sequence[Gate], look: Look = LIGHT) -> Figure:
    """Return a row for each of the worst gates: how many of its runs failed, and how long they took."""
    if not worst:
        return empty_figure(look, "no gate has run yet")
    figure, left = new_figure(look, 0.75 + ROW_IN * len(worst))
    grid = figure.add_gridspec(1, 2, width_ratios=(1, 1.25))
    left.set_subplotspec(grid[0])
    right = figure.add_subplot(grid[1], sharey=left)
    quieten(right, look)
    for place, gate in enumerate(worst):
        _name(left, place, gate, look)
        _failing(left, place, gate, look)
        _lasting(right, place, gate, look)
    left.set_ylim(len(worst) - 0.5, -0.75)
    left.set_yticks([])
    _scales(left, right, worst, look)
    return figure


def _name(axes: Axes, place: int, gate: Gate, look: Look) -> None:
    label = axes.text(0, place - 0.12, one_line(gate.name, 44 if look.narrow else NAME_CHARS), va="bottom", fontsize=10)
    verbatim(label).set(color=look.ink, in_layout=False)


def _failing(axes: Axes, place: int, gate: Gate, look: Look) -> None:
    axes.barh(place + 0.1, gate.failing_share, height=0.26, color=look.bad)
    axes.annotate(f"{share(gate.failing_share)} of {gate.runs:,}", (gate.failing_share, place + 0.1), xytext=(5, 0),
                  textcoords="offset points", va="center", fontsize=9.5, color=look.muted)  # fmt: skip


def _lasting(axes: Axes, place: int, gate: Gate, look: Look) -> None:
    said = "no duration told"
    if gate.median_s is not None and gate.p95_s is not None:
        said = " to ".join(dict.fromkeys((seconds(gate.median_s), seconds(gate.p95_s)))) + " s"
        median, p95 = max(LEAST_S, gate.median_s), max(LEAST_S, gate.p95_s)
        axes.plot([median, p95], [place + 0.1] * 2, color=look.good, lw=2.4, solid_capstyle="butt")
        axes.plot(median, place + 0.1, "o", ms=6.5, mew=0, color=look.good)
        axes.plot(p95, place + 0.1, "|", ms=11, mew=2, color=look.good)
    axes.annotate(said, (1, place + 0.1), xycoords=("axes fraction", "data"), xytext=(8, 0), fontsize=9.5,
                  textcoords="offset points", va="center", color=look.muted)  # fmt: skip


def _scales(left: Axes, right: Axes, worst: Sequence[Gate], look: Look) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    most = max(gate.failing_share for gate in worst)
    top = next(top for top in (0.1, 0.25, 0.5, 1.0) if most <= top)
    left.set_xlim(0, 1.6 * top)
    left.set_xticks([0, top], ["0%", f"{top:.0%}"])
    left.set_title("share of runs that failed", loc="left", fontsize=9.5, color=look.muted)
    times = [max(LEAST_S, each) for gate in worst for each in (gate.median_s, gate.p95_s) if each is not None]
    first, last = min(times, default=1) / 1.5, max(times, default=1) * 1.5
    right.set_xscale("log")
    right.set_xlim(first, last)
    right.xaxis.set_major_locator(LogLocator(subs=(1,) if last > 30 * first else (1, 2, 5)))
    right.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g} s"))
    right.xaxis.set_minor_formatter(NullFormatter())
    right.set_title("seconds: ● median to | 95th percentile", loc="left", fontsize=9.5, color=look.muted)
    for axes in (left, right):
        axes.tick_params(which="both", length=0)
        axes.xaxis.grid(True, color=look.grid, linewidth=0.8)


def gates_picture(events: pd.DataFrame) -> Picture:
    """Return the worst gates with their words."""
    worst = gates(events)[:GATES_DRAWN]
    caption = (
        "Worst first: the gate that fails most, by the 95% lower bound of its share, and the one that takes longest, "
        "by its 95th percentile, take turns."
    )
    return Picture(
        draw=partial(gates_chart, worst),
        alt=f"Gates that fail most and take longest. {'; '.join(map(_said, worst)) or 'No gate has run yet'}.",
        caption=caption if worst else "",
    )


def _said(gate: Gate) -> str:
    lasting = f"took {seconds(gate.median_s)} s, at the 95th percentile {seconds(gate.p95_s)} s"
    return f"{one_line(gate.name, 40)} failed {gate.failed:,} of {gate.runs:,} times and {lasting}"
