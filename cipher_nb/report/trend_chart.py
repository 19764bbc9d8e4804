"""The trend over nights as a picture: the composite, and below it every category, a column a night."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Any

from cipher_nb.report.deltas import Delta
from cipher_nb.report.picture import LIGHT, Look, Picture, empty_figure, new_figure, quieten, verbatim
from cipher_nb.report.plain import plain, score, signed
from cipher_nb.report.trend import NightPoint, category_order

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SHOWN, SHOWN_NARROW = 60, 24
COMPOSITE_IN = 2.1
ROW_IN = 0.25
LEAST_COLUMNS = 8
LEAST_SPAN = 0.1
MARKS: dict[str, dict[str, Any]] = {
    "PROVEN": {"marker": "^", "ms": 9, "mew": 0},
    "INCONCLUSIVE": {"marker": "o", "ms": 7.5, "mew": 1.6},
    "REGRESSION": {"marker": "X", "ms": 9, "mew": 0},
    "COULD_NOT_RUN": {"marker": "d", "ms": 7, "mew": 1.2},
}
RINGS: dict[str, dict[str, Any]] = {
    "applied": {"marker": "o", "ms": 16, "mew": 1.3, "mfc": "none"},
    "rolled back": {"marker": "s", "ms": 15, "mew": 1.3, "mfc": "none"},
}


def trend_chart(points: Sequence[NightPoint], look: Look = LIGHT) -> Figure:
    """Return production and candidates over the newest nights, and each candidate's score in every category."""
    shown = points[-(SHOWN_NARROW if look.narrow else SHOWN) :]
    if not any(point.composite for point in shown):
        return empty_figure(look, "no night has compared anything yet")
    names = category_order(shown)
    heights = (COMPOSITE_IN, ROW_IN * len(names))
    figure, upper = new_figure(look, 1.15 + sum(heights))
    grid = figure.add_gridspec(2, 1, height_ratios=heights)
    upper.set_subplotspec(grid[0])
    lower = figure.add_subplot(grid[1], sharex=upper)
    quieten(lower, look)
    _composites(upper, shown, look)
    _categories(lower, shown, names, look)
    _columns(upper, lower, shown, look)
    _legend(figure, shown, look)
    return figure


def _composites(axes: Axes, points: Sequence[NightPoint], look: Look) -> None:
    told = [
        (place, point, whole.production, whole.candidate)
        for place, point in enumerate(points)
        if (whole := point.composite) and whole.production is not None and whole.candidate is not None
    ]
    for _, alike in groupby(told, key=lambda row: row[1].battery):
        rows = [(place, production) for place, _, production, _ in alike]
        axes.plot(*zip(*rows, strict=True), color=look.muted, lw=1.6, marker="_", ms=8, mew=1.6, drawstyle="steps-post",
                  zorder=1.5)  # fmt: skip
    for place, point, production, candidate in told:
        style = _style(point.verdict, look)
        axes.plot([place, place], [production, candidate], color=style["color"], lw=1, zorder=1)
        axes.plot(place, candidate, ls="", zorder=3, clip_on=False, **style)
        if point.decision in RINGS:
            axes.plot(place, candidate, ls="", color=look.ink, zorder=2, clip_on=False, **RINGS[point.decision])
    values = [value for *_, production, candidate in told for value in (production, candidate)]
    middle, half = (max(values) + min(values)) / 2, max(LEAST_SPAN, max(values) - min(values)) * 0.68
    axes.set_ylim(max(-0.03, middle - half), min(1.03, middle + half))
    axes.yaxis.grid(True, color=look.grid, linewidth=0.8)
    axes.yaxis.set_major_formatter("{x:.2f}")
    axes.set_ylabel("composite", color=look.muted, fontsize=9.5)


def _style(verdict: str, look: Look) -> dict[str, Any]:
    mark = MARKS.get(verdict, MARKS["COULD_NOT_RUN"])
    colour = {"PROVEN": look.good, "REGRESSION": look.bad}.get(verdict, look.ink)
    return {"color": colour, "mec": colour, **({} if mark["mew"] == 0 else {"mfc": look.paper}), **mark}


def _categories(axes: Axes, points: Sequence[NightPoint], names: Sequence[str], look: Look) -> None:
    from matplotlib.patches import Rectangle

    numbers = len(points) <= (5 if look.narrow else 12)
    size = 8.5 if numbers else min(8.5, (170 if look.narrow else 420) / len(points))
    for column, point in enumerate(points):
        for name, row in point.categories.items():
            place, shade = names.index(name), _shade(row.candidate, look)
            axes.add_patch(Rectangle((column - 0.5, place - 0.5), 1, 1, fc=shade, ec=look.paper, lw=0.8))
            said = " ".join(filter(None, (score(row.candidate) if numbers else "", _sign(row))))
            axes.text(
                column, place, said, color=_readable(shade, look), ha="center", va="center_baseline", fontsize=size
            )
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_yticks(range(len(names)), [plain(name, 28) for name in names])
    for label in axes.get_yticklabels():
        verbatim(label).set(color=look.ink, fontsize=9.5)


def _sign(row: Delta) -> str:
    return "✕" if row.below_gate or row.said == "worse" else "▲" if row.sign == "▲" else ""


def _shade(value: float | None, look: Look) -> tuple[float, ...]:
    from matplotlib.colors import to_rgb

    share = min(1.0, max(0.0, value or 0.0))
    return tuple(a + (b - a) * share for a, b in zip(to_rgb(look.paper), to_rgb(look.muted), strict=True))


def _readable(shade: tuple[float, ...], look: Look) -> str:
    from matplotlib.colors import to_rgb

    return max((look.ink, look.paper), key=lambda colour: abs(sum(to_rgb(colour)) - sum(shade)))


def _columns(upper: Axes, lower: Axes, points: Sequence[NightPoint], look: Look) -> None:
    upper.set_xlim(-0.6, max(len(points), LEAST_COLUMNS) - 0.4)
    step = -(-len(points) // (4 if look.narrow else 8))
    places = list(range(len(points) - 1, -1, -step))
    one_a_day = len({point.day for point in points}) == len(points)
    lower.set_xticks(places, [points[place].day if one_a_day else points[place].moment for place in places])
    lower.tick_params(axis="x", labelsize=9)
    upper.tick_params(axis="x", labelbottom=False)
    for place, point in enumerate(points):
        if point.composite is None:
            upper.text(place, 0.02, "–", transform=upper.get_xaxis_transform(), ha="center", color=look.muted)
    for edge in _breaks(points):
        upper.axvline(edge, color=look.muted, lw=1.2, ls=":")


def _breaks(points: Sequence[NightPoint]) -> list[float]:
    """Return where the questions changed, so that scores on both sides cannot be compared."""
    compared = [(place, point.battery) for place, point in enumerate(points) if point.composite]
    return [place - 0.5 for (_, before), (place, after) in pairwise(compared) if before != after]


def _legend(figure: Figure, points: Sequence[NightPoint], look: Look) -> None:
    from matplotlib.lines import Line2D

    verdicts = {point.verdict for point in points if point.composite}
    decisions = {point.decision for point in points if point.composite}
    keys = [
        Line2D([], [], label="production", color=look.muted, lw=1.6),
        *(Line2D([], [], ls="", label=name, **_style(name, look)) for name in MARKS if name in verdicts),
        *(
            Line2D([], [], ls="", label=name, color=look.ink, **{**ring, "ms": 11})
            for name, ring in RINGS.items()
            if name in decisions
        ),
    ]
    if _breaks(points):
        keys.append(Line2D([], [], label="other questions", color=look.muted, lw=1.2, ls=":"))
    if any(point.composite is None for point in points):
        keys.append(Line2D([], [], ls="", label="– no result"))
    figure.legend(handles=keys, loc="outside upper left", ncols=2 if look.narrow else 5, frameon=False, fontsize=9.5,
                  handletextpad=0.4, columnspacing=1.2, borderpad=0, labelcolor=look.muted)  # fmt: skip


def trend_picture(points: Sequence[NightPoint]) -> Picture:
    """Return the trend with its words."""
    compared = [point for point in points if point.composite]
    said = "; ".join(map(_said, compared[-10:]))
    newest = " As many of the newest nights as there is room for." if len(points) > SHOWN_NARROW else ""
    return Picture(
        draw=partial(trend_chart, points),
        alt=f"Trend over {len(points)} nights, {len(compared)} of them with a comparison. {said or 'None yet'}.",
        caption="Above: the composite of production and of each night's candidate. Below: the candidate's score in "
        "every category, the fuller the shade the higher. ✕ below the gate or worse than chance explains, ▲ better."
        + newest
        if compared
        else "",
    )


def _said(point: NightPoint) -> str:
    whole = point.composite
    scores = f"{score(whole.candidate)} ({signed(whole.delta)})" if whole else "no result"
    decision = f", {point.decision}" if point.decision else ""
    return f"{plain(point.run_id, 40)} {plain(point.verdict, 20)} {scores}{decision}"
