"""Whether the texts of a drawn figure can be read: none covers another, and none is cut off."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axis import Tick
    from matplotlib.figure import Figure
    from matplotlib.transforms import Bbox


def overlapping(figure: Figure) -> list[tuple[str, str]]:
    """Return the texts of which one covers a part of the other."""
    return [(one, other) for (one, here), (other, there) in combinations(_boxes(figure), 2) if here.overlaps(there)]


def cut_off(figure: Figure) -> list[str]:
    """Return the texts that do not lie within the figure."""
    whole = figure.bbox.padded(1)
    return [text for text, box in _boxes(figure) if not (whole.contains(*box.min) and whole.contains(*box.max))]


def _boxes(figure: Figure) -> list[tuple[str, Bbox]]:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.text import Text

    FigureCanvasAgg(figure).draw()
    ticks = [tick for axes in figure.axes for axis in (axes.xaxis, axes.yaxis) for tick in axis.get_major_ticks()]
    beyond = {tick.label1 for tick in ticks if not _is_drawn(tick)}
    texts = [each for each in figure.findobj(Text) if each.get_visible() and each.get_text().strip()]
    return [(each.get_text(), each.get_window_extent().padded(-1)) for each in texts if each not in beyond]


def _is_drawn(tick: Tick) -> bool:
    low, high = sorted(tick.get_view_interval())
    return low <= tick.get_loc() <= high
