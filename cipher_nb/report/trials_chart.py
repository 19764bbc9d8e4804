"""The trials as a picture: what each setting gains on the target against what it costs elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from cipher_nb.night.trials.evidence import Finding, Findings
from cipher_nb.report.picture import LIGHT, Look, Picture, empty_figure, new_figure, verbatim
from cipher_nb.report.plain import MINUS, plain, signed

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LEAST_HEIGHT_IN = 3.6
LABEL_IN = 0.23
LABELS_AT = 1.06
"""Where the labels stand, in widths of the axes."""
MARKERS = ("o", "s", "^", "D", "v", "P")


def trials_chart(findings: Findings, look: Look = LIGHT) -> Figure:
    """Return a point a setting with its 95 % whiskers, joined to its label; the shape tells the share of replay."""
    found = [each for setting in findings.settings() if (each := findings.finding(setting))]
    if not found:
        return empty_figure(look, "no trial has been done yet")
    height = max(LEAST_HEIGHT_IN, 1.0 + LABEL_IN * len(found))
    figure, axes = new_figure(look, height)
    shares = sorted({each.setting.replay_share for each in found})
    sop = findings.plan.sop.setting
    for each in found:
        _point(
            axes,
            each,
            MARKERS[shares.index(each.setting.replay_share) % len(MARKERS)],
            look,
            chosen=each.setting == sop,
        )
    axes.axhline(0, color=look.muted, lw=1.0, zorder=0.5)
    axes.axvline(0, color=look.muted, lw=1.0, zorder=0.5)
    _labels(axes, found, look, sop_name=sop.name, narrow_in=height)
    _scales(axes, findings.target, look)
    return figure


def _point(axes: Axes, found: Finding, marker: str, look: Look, *, chosen: bool) -> None:
    x, y = found.elsewhere, found.target
    colour = look.bad if chosen else look.good
    whisker: dict[str, Any] = {"color": colour, "lw": 1.8 if chosen else 0.8, "alpha": 1.0 if chosen else 0.45}
    axes.plot([x.lower, x.upper], [y.delta, y.delta], zorder=1, **whisker)
    axes.plot([x.delta, x.delta], [y.lower, y.upper], zorder=1, **whisker)
    plain_setting = found.setting.replay == "base" and found.setting.rejections == "ignore"
    fill = colour if plain_setting else look.paper
    axes.plot(x.delta, y.delta, marker, ms=10.0 if chosen else 7.0, mec=colour, mfc=fill, mew=1.5, zorder=3)


def _labels(axes: Axes, found: Sequence[Finding], look: Look, *, sop_name: str, narrow_in: float) -> None:
    """Write the names beside the axes, each as near to the height of its point as the others allow."""
    ordered = sorted(found, key=lambda each: each.target.delta)
    low, high = axes.get_ylim()
    heights = _apart([(each.target.delta - low) / (high - low) for each in ordered], LABEL_IN / (narrow_in - 0.8))
    for each, height in zip(ordered, heights, strict=True):
        chosen = each.setting.name == sop_name
        label = axes.text(
            LABELS_AT,
            height,
            each.setting.name + (" (SOP)" if chosen else ""),
            transform=axes.transAxes,
            va="center",
            fontsize=8.5 if look.narrow else 9.5,
            fontweight="bold" if chosen else "normal",
            color=look.ink,
        )
        verbatim(label)
        axes.annotate(
            "",
            (each.elsewhere.delta, each.target.delta),
            xytext=(LABELS_AT, height),
            textcoords="axes fraction",
            annotation_clip=False,
            arrowprops=_leader(look),
        )


def _leader(look: Look) -> dict[str, Any]:
    return {"arrowstyle": "-", "color": look.muted, "lw": 0.6, "ls": (0, (1, 2)), "shrinkA": 2, "shrinkB": 4}


def _apart(heights: Sequence[float], least: float) -> list[float]:
    """Return rising heights moved as little as it takes to be `least` apart and, where there is room, within 0 to 1."""
    moved = list(heights)
    for index in range(1, len(moved)):
        moved[index] = max(moved[index], moved[index - 1] + least)
    moved[-1] = min(moved[-1], 1.0)
    for index in range(len(moved) - 2, -1, -1):
        moved[index] = min(moved[index], moved[index + 1] - least)
    return moved


def _scales(axes: Axes, target: str, look: Look) -> None:
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    def form(value: float, _: int) -> str:
        return f"{value:+.2g}".replace("-", MINUS) if abs(value) > 1e-9 else "0"

    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(nbins=4 if look.narrow else 6, steps=[1, 2, 5, 10]))
        axis.set_major_formatter(FuncFormatter(form))
    axes.grid(True, color=look.grid, linewidth=0.8)
    axes.set_xlabel("change elsewhere, mean over the other categories", color=look.muted, fontsize=9.5)
    verbatim(axes.set_ylabel(f"gain on {plain(target, 30)}", color=look.muted, fontsize=9.5))


def trials_picture(findings: Findings) -> Picture:
    """Return the chart with its words."""
    found = [each for setting in findings.settings() if (each := findings.finding(setting))]
    said = "; ".join(_said(each) for each in found) or "No trial has been done yet"
    shares = sorted({each.setting.replay_share for each in found})
    shapes = ", ".join(f"{shape} {share:.0%}" for shape, share in zip("●■▲◆▼✚", shares, strict=False))
    caption = (
        f"Up is gained, left is lost. Whiskers are 95% intervals. Replay: {shapes}; hollow: another replay or loss. "
        "The large point with the strong whiskers is the SOP's setting."
    )
    return Picture(
        draw=partial(trials_chart, findings),
        alt=f"Gain on {plain(findings.target, 40)} and change elsewhere by setting. {said}.",
        caption=caption if found else "",
    )


def _said(found: Finding) -> str:
    return f"{found.setting.name}: gain {signed(found.target.delta)}, elsewhere {signed(found.elsewhere.delta)}"
