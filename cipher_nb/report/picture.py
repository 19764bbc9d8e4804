"""A chart as it is shown: inline, without a request, with words for who cannot see it, by day and by night."""

from __future__ import annotations

import base64
import io
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Text

FONTS = (
    "-apple-system, BlinkMacSystemFont, 'Segoe UI', Roboto, 'Helvetica Neue', 'Noto Sans', 'Liberation Sans', Arial, "
    "sans-serif"
)
NARROW = "screen and (max-width: 38rem)"
DARK_MODE = "screen and (prefers-color-scheme: dark)"


@dataclass(frozen=True)
class Look:
    """How a chart is drawn: Okabe-Ito colours that differ in lightness too, and a width."""

    ink: str = "#1c1e21"
    muted: str = "#61666d"
    grid: str = "#e3e5e8"
    good: str = "#0072b2"
    bad: str = "#d55e00"
    paper: str = "#ffffff"
    width_in: float = 7.4

    @property
    def narrow(self) -> bool:
        return self.width_in < 5


LIGHT = Look()
DARK = Look(ink="#e6e7e9", muted="#a0a5ad", grid="#33373d", good="#56b4e9", bad="#e69f00", paper="#16181c")

Draw = Callable[[Look], "Figure"]


@dataclass(frozen=True)
class Picture:
    """A chart drawn for every reader. Jupyter shows it as it is; a page embeds `html()`."""

    draw: Draw
    alt: str
    caption: str = ""

    def html(self) -> str:
        """Return a figure element that follows the reader's colour scheme and width."""
        sources = "".join(
            f'<source media="{media}" srcset="{svg_uri(self.draw(look))}">'
            for media, look in (
                (f"{DARK_MODE} and (max-width: 38rem)", replace(DARK, width_in=4.2)),
                (DARK_MODE, DARK),
                (NARROW, replace(LIGHT, width_in=4.2)),
            )
        )
        return self._figure(f"<picture>{sources}{self._img()}</picture>")

    def __repr__(self) -> str:
        return self.alt

    def _repr_html_(self) -> str:
        return self._figure(self._img(on_paper=True))

    def _img(self, *, on_paper: bool = False) -> str:
        uri = svg_uri(self.draw(LIGHT), paper=LIGHT.paper if on_paper else "none")
        return f'<img src="{uri}" alt="{escape(self.alt)}">'

    def _figure(self, inner: str) -> str:
        caption = f"<figcaption>{escape(self.caption)}</figcaption>" if self.caption else ""
        return f'<figure style="margin:0">{inner}{caption}</figure>'


def new_figure(look: Look, height_in: float) -> tuple[Figure, Axes]:
    """Return an empty figure with one quiet set of axes."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(look.width_in, height_in), layout="constrained", facecolor="none")
    axes = figure.add_subplot()
    quieten(axes, look)
    return figure, axes


def quieten(axes: Axes, look: Look) -> None:
    """Take away what a chart does not need: frame, ticks and background."""
    axes.set_facecolor("none")
    axes.tick_params(length=0, labelsize=10, colors=look.muted)
    axes.set_axisbelow(True)
    for spine in axes.spines.values():
        spine.set_visible(False)


def empty_figure(look: Look, sentence: str) -> Figure:
    """Return a figure that says why there is nothing to see."""
    figure, axes = new_figure(look, 1.0)
    axes.set_xticks([])
    axes.set_yticks([])
    verbatim(axes.text(0.5, 0.5, sentence, ha="center", va="center", color=look.muted, fontsize=11))
    return figure


def verbatim(label: Text) -> Text:
    """Keep `label` from being read as a formula: a `$` in a name is only a `$`."""
    label.set_parse_math(False)
    return label


def svg_uri(figure: Figure, *, paper: str = "none") -> str:
    """Return the figure as a data URI: the same bytes for the same drawing, its text in the reader's fonts."""
    from matplotlib import rc_context

    buffer = io.StringIO()
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "cipher-nb"}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font", UserWarning)  # the reader's fonts may have it
        figure.savefig(buffer, format="svg", facecolor=paper, metadata={"Date": None, "Creator": None})
    drawing = buffer.getvalue()
    drawing = drawing[drawing.index("<svg") :]
    drawing = re.sub(r'font-family: [^;"]*', f"font-family: {FONTS}", drawing)
    return "data:image/svg+xml;base64," + base64.b64encode(drawing.encode()).decode("ascii")
