"""The training loss of a night, as a chart."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from cipher_nb.report.picture import LIGHT, Look, Picture, empty_figure, new_figure
from cipher_nb.report.view import NightView, finite, listed

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SMOOTH_FROM = 18
"""As many steps are enough for a mean to show more than they do."""


def losses(view: NightView) -> list[float]:
    """Return the loss of every optimiser step that has a finite one."""
    return [value for value in map(finite, listed(view.train, "losses")) if value is not None]


def loss_chart(view: NightView, look: Look = LIGHT) -> Figure:
    """Return the training loss by step, with a running mean once there are enough steps for one."""
    values = losses(view)
    if not values:
        return empty_figure(look, "no losses were recorded")
    from matplotlib.ticker import MaxNLocator

    figure, axes = new_figure(look, 2.4)
    steps = range(1, len(values) + 1)
    long = len(values) >= SMOOTH_FROM
    axes.plot(
        steps, values, color=look.muted if long else look.good, linewidth=1 if long else 2, alpha=0.55 if long else 1
    )
    if long:
        axes.plot(steps, _running_mean(values), color=look.good, linewidth=2)
    axes.set_ylim(*_limits(values))
    axes.set_xlim(0.5, len(values) + 0.5)
    axes.yaxis.grid(True, color=look.grid, linewidth=0.8)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=6, integer=True))
    axes.set_xlabel("optimiser step", color=look.muted, fontsize=9.5)
    axes.set_ylabel("loss, nats per token", color=look.muted, fontsize=9.5)
    return figure


def _limits(values: Sequence[float]) -> tuple[float, float]:
    """Begin at zero, unless that would press a slow fall flat."""
    low, high = min(values), max(values)
    margin = 0.15 * (high - low) or 0.1
    return (0 if low < high / 2 else max(0, low - margin)), high + margin


def _window(steps: int) -> int:
    """Return the length of the running mean: about a tenth of the steps, and odd."""
    return max(9, steps // 10 | 1)


def _running_mean(values: Sequence[float]) -> list[float]:
    half = _window(len(values)) // 2
    windows = (values[max(0, step - half) : step + half + 1] for step in range(len(values)))
    return [sum(window) / len(window) for window in windows]


def loss_picture(view: NightView) -> Picture:
    """Return the loss chart with its words."""
    values = losses(view)
    said = f"from {values[0]:.2f} to {values[-1]:.2f} in {len(values)} steps" if values else "not recorded"
    smoothed = f" The bold line is the mean over {_window(len(values))} steps." if len(values) >= SMOOTH_FROM else ""
    return Picture(
        draw=partial(loss_chart, view),
        alt=f"Training loss {said}.",
        caption=f"Cross-entropy on the response tokens, by step.{smoothed}",
    )
