"""The chart of the deltas: every category with its bounds, against the gate."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from statistics import median
from typing import TYPE_CHECKING, Any

from cipher_nb.battery.rule import MAX_DROP
from cipher_nb.report.deltas import SIGNS, Delta, composite, deltas
from cipher_nb.report.picture import LIGHT, Look, Picture, empty_figure, new_figure, verbatim
from cipher_nb.report.plain import MINUS, plain, signed
from cipher_nb.report.view import NightView

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ROW_IN = 0.3
LEAST_REACH = 0.1
"""How far the axis goes from 0 to either side at the least."""
ODD = 5
"""A bound this many times farther out than the usual one ends in an arrow at the edge."""


def category_chart(view: NightView, look: Look = LIGHT) -> Figure:
    """Return the delta of every category with its bounds, in the table's order, against the gate's lines."""
    rows, whole = deltas(view), composite(view)
    if not rows:
        return empty_figure(look, "no categories were compared")
    shown = [*rows, *([whole] if whole else [])]
    places = [place + (0.5 if row is whole else 0) for place, row in enumerate(shown)]
    figure, axes = new_figure(look, 1.1 + ROW_IN * len(shown))
    axes.set_xlim(*_reach(shown))
    axes.set_ylim(places[-1] + (1.0 if whole else 0.6), -1.2)
    for place, row in zip(places, shown, strict=True):
        _row(axes, place, row, look)
    axes.tick_params(axis="y", pad=7)
    axes.set_yticks(places, [plain(row.category, 28) for row in shown])
    for label, row in zip(axes.get_yticklabels(), shown, strict=True):
        verbatim(label).set(color=look.ink, fontweight="bold" if row.below_gate or row is whole else "normal")
    _gate_lines(axes, len(rows), places[-1] if whole else None, look, baseline=view.baseline)
    _scale(axes, look)
    return figure


def _reach(rows: Sequence[Delta]) -> tuple[float, float]:
    """Return where the axis begins and ends: all deltas are on it, and all bounds but those of the odd wide one."""
    known = [row.delta for row in rows if row.delta is not None]
    lower = [row.lower_bound for row in rows if row.lower_bound is not None]
    upper = [row.upper_bound for row in rows if row.upper_bound is not None]
    return -_farthest([-delta for delta in known], [-bound for bound in lower]), _farthest(known, upper)


def _farthest(known: Sequence[float], bounds: Sequence[float]) -> float:
    usual = min(max(bounds), ODD * median(map(abs, bounds))) if bounds else 0.0
    return 1.06 * max(LEAST_REACH, usual, *known)


def _row(axes: Axes, place: float, row: Delta, look: Look) -> None:
    colour = look.bad if row.below_gate or row.said == "worse" else look.good if row.sign in "▲●" else look.muted
    if row.delta is None:
        axes.annotate("not scored", (0, place), xytext=(6, 0), textcoords="offset points", color=look.muted,
                      va="center", fontsize=9.5)  # fmt: skip
        return
    for bound, end in ((row.lower_bound, 0), (row.upper_bound, 1)):
        if bound is not None:
            _whisker(axes, place, row.delta, bound, end, colour)
    axes.plot(row.delta, place, color=colour, mec=colour, **_mark(row.sign, look))
    axes.annotate(
        f"{signed(row.delta)}  {row.sign if look.narrow else row.word.replace(', below the gate', '')}",
        (1, place),
        xycoords=("axes fraction", "data"),
        xytext=(8, 0),
        textcoords="offset points",
        va="center",
        color=look.ink,
        fontsize=10,
        fontweight="bold" if row.below_gate else "normal",
        annotation_clip=False,
    )


def _whisker(axes: Axes, place: float, delta: float, bound: float, end: int, colour: str) -> None:
    edge = axes.get_xlim()[end]
    beyond = abs(bound) > abs(edge) and bound * edge > 0
    axes.plot([delta, edge if beyond else bound], [place, place], color=colour, lw=1.6, solid_capstyle="butt")
    mark: dict[str, Any] = {"marker": "<>"[end], "ms": 6, "mew": 0} if beyond else {"marker": "|", "ms": 7, "mew": 1.6}
    axes.plot(edge if beyond else bound, place, color=colour, clip_on=False, **mark)


def _mark(sign: str, look: Look) -> dict[str, Any]:
    marker = {"▲": "^", "△": "^", "▼": "v", "✕": "X"}.get(sign, "o")
    filled = sign in "▲●✕"
    return {"marker": marker, "ms": 8.5 if marker == "X" else 7.5, "mew": 0 if filled else 1.6} | (
        {} if filled else {"mfc": look.paper}
    )


def _gate_lines(axes: Axes, count: int, whole: float | None, look: Look, *, baseline: str) -> None:
    top, end = -0.55, count - 0.5
    axes.plot([-MAX_DROP] * 2, [top, end], color=look.bad, lw=1.4, ls=(0, (4, 2)), zorder=0.5)
    axes.plot([0, 0], [top, end], color=look.muted, lw=1.1, zorder=0.5)
    said: dict[str, Any] = {"va": "bottom", "fontsize": 9.5, "color": look.bad}
    axes.text(-MAX_DROP, top, f"gate {MINUS}{MAX_DROP:.2f} ", ha="right", **said)
    as_before = axes.text(0, top, " 0" if look.narrow else f" 0: as {baseline}", ha="left", **said)
    verbatim(as_before).set_color(look.muted)
    if whole is not None:
        axes.axhline(count - 0.25, color=look.grid, lw=1)
        axes.plot([0, 0], [whole - 0.55, whole + 0.45], color=look.bad, lw=1.8, ls=(0, (2, 1)), zorder=1.5)
        axes.text(0, whole + 0.45, " gate of the composite: 0", ha="left", **{**said, "va": "top"})


def _scale(axes: Axes, look: Look) -> None:
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    axes.xaxis.set_major_locator(MaxNLocator(nbins=4 if look.narrow else 7, steps=[1, 2, 5, 10]))
    axes.xaxis.set_major_formatter(
        FuncFormatter(lambda value, _: f"{value:+.2g}".replace("-", MINUS) if value else "0")
    )
    axes.xaxis.grid(True, color=look.grid, linewidth=0.8)


def category_picture(view: NightView) -> Picture:
    """Return the category chart with its words."""
    whole = composite(view)
    rows = [*deltas(view), *([whole] if whole else [])]
    said = "; ".join(map(_said, rows)) or "None was compared"
    return Picture(
        draw=partial(category_chart, view),
        alt=f"Delta of candidate to {view.baseline} per category. {said}.",
        caption=_caption(rows, view.baseline) if rows else "",
    )


def _said(row: Delta) -> str:
    bounds = f", at least {signed(row.lower_bound)}" if row.lower_bound is not None else ""
    bounds += f", at most {signed(row.upper_bound)}" if row.upper_bound is not None else ""
    return f"{plain(row.category, 40)} {signed(row.delta)}{bounds}: {row.word.partition(' ')[2]}"


def _caption(rows: Sequence[Delta], baseline: str) -> str:
    two_sided = any(row.upper_bound is not None for row in rows)
    whiskers = "Whiskers end at the least and the greatest" if two_sided else "The whisker ends at the least"
    signs = f" {', '.join(f'{sign} {said}' for said, sign in SIGNS.items())}." if any(row.said for row in rows) else ""
    return (
        f"Candidate minus {baseline} on sealed samples. {whiskers} true delta (95%, one-sided).{signs} "
        f"By the rule a category may fall by {MAX_DROP:.2f}, the composite not at all."
    )
