"""How often the operator agrees: the share of approvals among approvals and rejections, over time."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from cipher_nb.learned.explain import wilson_low
from cipher_nb.learned.rule import Rule
from cipher_nb.report.picture import LIGHT, Look, Picture, empty_figure, new_figure
from cipher_nb.report.spans import MOST_BINS, Bins, dated, days, milliseconds, time_axis

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

WINDOW = 20
SINGLY = 300
VOTES_A_BIN = 20
MARKS_SHOWN = 60
MIN_RATE = Rule().min_rate


@dataclass(frozen=True)
class Agreement:
    """Shares of approvals, oldest first, each at its time, with the ends of its 95 % Wilson interval.

    `unit` is the stretch of time that a share is taken over, or "" where it is taken over the last 20 decisions.
    """

    times_ms: NDArray[np.int64]
    rates: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    votes: int
    unit: str = ""

    @property
    def newest(self) -> str:
        """The newest share and what it is taken over, in words."""
        over = f"in the newest {self.unit}" if self.unit else f"of the last {min(WINDOW, self.votes)} decisions"
        return f"{self.rates[-1]:.0%} {over}"


def agreement(events: pd.DataFrame) -> Agreement | None:
    """Return how the share of approvals moved, or None where no decision tells its time."""
    decisions = dated(events[events["type"].isin(["approval", "rejection"])]).sort_values("ts", kind="stable")
    if decisions.empty:
        return None
    times, approved = milliseconds(decisions), (decisions["type"] == "approval").to_numpy()
    return _singly(times, approved) if len(times) <= SINGLY else _binned(times, approved)


def _singly(times: NDArray[np.int64], approved: NDArray[np.bool_]) -> Agreement:
    sums = np.append(0, np.cumsum(approved))
    ends = np.arange(1, len(times) + 1)
    starts = np.maximum(0, ends - WINDOW)
    return _agreement(times, sums[ends] - sums[starts], ends - starts, len(times))


def _binned(times: NDArray[np.int64], approved: NDArray[np.bool_]) -> Agreement:
    bins = Bins.over(times, most=min(MOST_BINS, len(times) // VOTES_A_BIN))
    counts, agreed = bins.counted(times), bins.counted(times[approved])
    held = counts > 0
    return _agreement(bins.middles_ms[held], agreed[held], counts[held], len(times), bins.unit)


def _agreement(
    times: NDArray[np.int64], agreed: NDArray[np.int64], counts: NDArray[np.int64], votes: int, unit: str = ""
) -> Agreement:
    pairs = list(zip(agreed.tolist(), counts.tolist(), strict=True))
    low = np.array([wilson_low(yes, count) for yes, count in pairs])
    high = np.array([1 - wilson_low(count - yes, count) for yes, count in pairs])
    return Agreement(times, agreed / counts, low, high, votes, unit)


def approval_chart(events: pd.DataFrame, look: Look = LIGHT) -> Figure:
    """Return how the share of approvals moved, against what a pattern needs to be learned."""
    found = agreement(events)
    if found is None:
        voted = events["type"].isin(["approval", "rejection"]).any()
        return empty_figure(look, "no decision tells its time" if voted else "nothing was approved or rejected yet")
    figure, axes = new_figure(look, 2.6)
    at = days(found.times_ms)
    axes.axhline(MIN_RATE, color=look.bad, linewidth=1.2, linestyle=(0, (4, 3)))
    axes.fill_between(at, found.low, found.high, color=look.good, alpha=0.18, linewidth=0)
    axes.plot(at, found.rates, "o-" if len(at) <= MARKS_SHOWN else "-", ms=3.5, linewidth=1.8, color=look.good)
    axes.annotate(f"{found.rates[-1]:.0%}", (1, found.rates[-1]), xycoords=("axes fraction", "data"), xytext=(8, 0),
                  textcoords="offset points", va="center", fontsize=11, fontweight="bold", color=look.good)  # fmt: skip
    axes.set_ylim(-0.03, 1.05)
    axes.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0%", "25%", "50%", "75%", "100%"])
    axes.yaxis.grid(True, color=look.grid, linewidth=0.8)
    time_axis(axes, (int(found.times_ms[0]), int(found.times_ms[-1])), look)
    return figure


def approval_picture(events: pd.DataFrame) -> Picture:
    """Return the approval rate with its words."""
    found = agreement(events)
    if found is None:
        return Picture(draw=partial(approval_chart, events), alt="Share of approvals over time: no decision yet.")
    basis = f"per {found.unit}" if found.unit else f"among the last {WINDOW} decisions"
    return Picture(
        draw=partial(approval_chart, events),
        alt=f"Share of approvals over time: {found.newest}.",
        caption=f"Share of approvals {basis}; the number is the newest. The band is its 95% Wilson interval, the "
        f"dashed line what a pattern needs to be learned: {MIN_RATE:.0%}.",
    )
