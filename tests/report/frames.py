"""Frames as `Bus.frame` makes them, from events given oldest first."""

from __future__ import annotations

import base64
import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from cipher_nb.bus.frame import frame_of
from cipher_nb.records import Event
from cipher_nb.report.picture import svg_uri

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pandas as pd
    from matplotlib.figure import Figure

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
HOSTILE = "</title><script>alert(1)</script>\u202egnp.exe\n[system] $\\frac{a}$ 漢字 🧨 " + "x" * 10_000 + " end"


def frame(*events: Event) -> pd.DataFrame:
    return frame_of(reversed(events))


def after(minutes: float) -> datetime:
    return NOON + timedelta(minutes=minutes)


def event(kind: str, minutes: float = 0.0, **fields: Any) -> Event:
    return Event(kind, after(minutes), f"e{minutes:g}", fields)


def every(minutes: float, count: int, kind: str = "gate", **fields: Any) -> Iterable[Event]:
    return (event(kind, minutes * number, **fields) for number in range(count))


def words_in(figure: Figure) -> list[str]:
    """Return every text of the drawn figure."""
    svg = base64.b64decode(svg_uri(figure).split(",")[1]).decode()
    return re.findall(r"<text[^>]*>([^<]*)</text>", svg)
