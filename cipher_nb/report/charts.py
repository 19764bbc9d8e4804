"""The charts of a night: scores per category against the gate, and the training loss."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from cipher_nb.battery.rule import MAX_DROP
from cipher_nb.report.deltas import Delta, composite, deltas
from cipher_nb.report.picture import LIGHT, Look, Picture, empty_figure, new_figure, verbatim
from cipher_nb.report.plain import MINUS, plain, score, signed
from cipher_nb.report.view import NightView, finite, listed

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ROW_IN = 0.34
SMOOTH_OVER = 9
_DOT: dict[str, Any] = {"marker": "o", "ms": 6.5, "mew": 0}
_CROSS: dict[str, Any] = {"marker": "X", "ms": 9, "mew": 0}


def category_chart(view: NightView, look: Look = LIGHT) -> Figure:
    """Return production against candidate per category, worst delta on top, each row with its gate line."""
    rows = _chart_rows(view)
    if not rows:
        return empty_figure(look, "no categories were compared")
    figure, axes = new_figure(look, 0.9 + ROW_IN * len(rows))
    places = range(len(rows))
    for place, row in zip(places, rows, strict=True):
        _category(axes, place, row, look)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xlim(-0.02, 1.02)
    axes.set_yticks(list(places), [plain(row.category, 28) for row in rows])
    for label, row in zip(axes.get_yticklabels(), rows, strict=True):
        verbatim(label).set(color=look.ink, fontweight="normal" if row.allowed_drop else "bold")
    axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "0.25", "0.50", "0.75", "1"])
    axes.xaxis.grid(True, color=look.grid, linewidth=0.8)
    _legend(figure, look, failed=any(row.below_gate for row in rows))
    return figure


def _chart_rows(view: NightView) -> list[Delta]:
    whole = composite(view)
    return [*deltas(view), *([whole] if whole else [])]


def _category(axes: Axes, place: int, row: Delta, look: Look) -> None:
    if row.production is None or row.candidate is None or row.delta is None:
        axes.text(0.5, place, "not scored", color=look.muted, ha="center", va="center", fontsize=9.5)
        return
    failed = row.below_gate
    colour = look.bad if failed else look.good
    gate = row.production - row.allowed_drop
    axes.plot([row.production, row.candidate], [place, place], color=colour, linewidth=2.4, solid_capstyle="round")
    axes.plot([gate, gate], [place - 0.3, place + 0.3], color=look.bad, linewidth=1.4)
    axes.plot(row.production, place, **_ring(look))
    axes.plot(row.candidate, place, color=colour, **(_CROSS if failed else _DOT))
    note = "" if not failed else "  ✕" if look.narrow else "  below the gate"
    axes.annotate(
        signed(row.delta) + note,
        (1, place),
        xycoords=("axes fraction", "data"),
        xytext=(8, 0),
        textcoords="offset points",
        va="center",
        color=colour if failed else look.ink,
        fontsize=10,
        annotation_clip=False,
    )


def _ring(look: Look) -> dict[str, Any]:
    return {"marker": "o", "ms": 10, "mfc": look.paper, "mec": look.muted, "mew": 1.5}


def _legend(figure: Figure, look: Look, *, failed: bool) -> None:
    from matplotlib.lines import Line2D

    gate = "gate" if look.narrow else f"gate: production {MINUS} {MAX_DROP:.2f}"
    keys = [
        Line2D([], [], ls="", label="production", **_ring(look)),
        Line2D([], [], ls="", label="candidate", color=look.good, **_DOT),
        Line2D([], [], ls="", label=gate, marker="|", ms=11, mew=1.4, color=look.bad),
    ]
    if failed:
        keys.append(Line2D([], [], ls="", label="below gate", color=look.bad, **_CROSS))
    figure.legend(
        handles=keys,
        loc="outside upper left",
        ncols=4,
        frameon=False,
        fontsize=9.5,
        handletextpad=0.2,
        columnspacing=1.1,
        borderpad=0,
        labelcolor=look.muted,
    )


def category_picture(view: NightView) -> Picture:
    """Return the category chart with its words."""
    said = "; ".join(
        f"{plain(row.category, 40)} {score(row.production)} to {score(row.candidate)} ({signed(row.delta)})"
        for row in _chart_rows(view)
    )
    return Picture(
        draw=partial(category_chart, view),
        alt=f"Score of production and candidate per category. {said or 'No categories were compared'}.",
        caption=f"Score on sealed samples. A category may fall by {MAX_DROP:.2f}, the composite not at all.",
    )


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
    long = len(values) >= 2 * SMOOTH_OVER
    axes.plot(
        steps, values, color=look.muted if long else look.good, linewidth=1 if long else 2, alpha=0.55 if long else 1
    )
    if long:
        axes.plot(steps, _running_mean(values), color=look.good, linewidth=2)
    axes.set_ylim(0, max(values) * 1.08 or 1)
    axes.set_xlim(0.5, len(values) + 0.5)
    axes.yaxis.grid(True, color=look.grid, linewidth=0.8)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=6, integer=True))
    axes.set_xlabel("optimiser step", color=look.muted, fontsize=9.5)
    axes.set_ylabel("loss", color=look.muted, fontsize=9.5)
    return figure


def _running_mean(values: Sequence[float]) -> list[float]:
    half = SMOOTH_OVER // 2
    windows = (values[max(0, step - half) : step + half + 1] for step in range(len(values)))
    return [sum(window) / len(window) for window in windows]


def loss_picture(view: NightView) -> Picture:
    """Return the loss chart with its words."""
    values = losses(view)
    said = f"from {values[0]:.2f} to {values[-1]:.2f} in {len(values)} steps" if values else "not recorded"
    smoothed = f" The bold line is the mean over {SMOOTH_OVER} steps." if len(values) >= 2 * SMOOTH_OVER else ""
    return Picture(
        draw=partial(loss_chart, view),
        alt=f"Training loss {said}.",
        caption=f"Cross-entropy on the response tokens, by step.{smoothed}",
    )
