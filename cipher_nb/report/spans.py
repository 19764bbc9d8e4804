"""Stretches of time: events counted per hour, day or week, and the axis they stand on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from cipher_nb.report.picture import Look

MOST_BINS = 130
LEAST_MARGIN_MS = 30_000
HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
MONDAY_MS = 4 * DAY_MS  # 1970 began on a Thursday
UNITS = (
    ("minute", HOUR_MS // 60),
    ("hour", HOUR_MS),
    ("day", DAY_MS),
    ("week", 7 * DAY_MS),
    ("30 days", 30 * DAY_MS),
    ("365 days", 365 * DAY_MS),
)


def dated(events: pd.DataFrame) -> pd.DataFrame:
    """Return the events whose time can be believed: told, and of this century."""
    return events[events["ts"].between("2000-01-01T00:00Z", "2100-01-01T00:00Z", inclusive="left")]


def milliseconds(events: pd.DataFrame) -> NDArray[np.int64]:
    """Return the times of dated events in milliseconds since 1970."""
    return events["ts"].to_numpy("datetime64[ms]").astype(np.int64)


def days(times_ms: Any) -> Any:
    """Return times as a chart counts them: in days since 1970."""
    return times_ms / DAY_MS


@dataclass(frozen=True)
class Bins:
    """`count` equal stretches, each a `unit` long, from `first_ms` on; days are UTC's, weeks begin on Monday."""

    unit: str
    width_ms: int
    first_ms: int
    count: int

    @classmethod
    def over(cls, times_ms: NDArray[np.int64], *, most: int = MOST_BINS) -> Bins:
        """Return the shortest bins of which at most `most` cover all of `times_ms`, or else the longest there are."""
        each = [cls._covering(unit, width_ms, times_ms) for unit, width_ms in UNITS]
        return next((bins for bins in each if bins.count <= most), each[-1])

    @classmethod
    def _covering(cls, unit: str, width_ms: int, times_ms: NDArray[np.int64]) -> Bins:
        first_ms = (int(times_ms.min()) - MONDAY_MS) // width_ms * width_ms + MONDAY_MS
        return cls(unit, width_ms, first_ms, (int(times_ms.max()) - first_ms) // width_ms + 1)

    @property
    def edges_ms(self) -> NDArray[np.int64]:
        return self.first_ms + self.width_ms * np.arange(self.count + 1)

    @property
    def middles_ms(self) -> NDArray[np.int64]:
        return self.edges_ms[:-1] + self.width_ms // 2

    @property
    def ends_ms(self) -> tuple[int, int]:
        return self.first_ms, self.first_ms + self.width_ms * self.count

    def counted(self, times_ms: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return how many of `times_ms` lie in each bin."""
        return np.bincount((times_ms - self.first_ms) // self.width_ms, minlength=self.count)


def time_axis(axes: Axes, ends_ms: tuple[int, int], look: Look) -> None:
    """Let `axes` run from one time to the other, with a margin."""
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

    first_ms, last_ms = ends_ms
    margin = max((last_ms - first_ms) * 0.02, LEAST_MARGIN_MS)
    axes.set_xlim(days(first_ms - margin), days(last_ms + margin))
    locator = AutoDateLocator(minticks=2 if look.narrow else 3, maxticks=5 if look.narrow else 8)
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(ConciseDateFormatter(locator))
    axes.xaxis.get_offset_text().set(color=look.muted, fontsize=9.5)
