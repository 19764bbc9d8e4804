"""Is the operator at work? Judged by what only an operator does: decide, ship, and talk to the model."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from itertools import islice

from cipher_nb.bus import Bus
from cipher_nb.errors import ConfigError
from cipher_nb.transcripts import Transcripts

OPERATOR_EVENTS = ("approval", "rejection", "abort", "ship", "preference")
UNITS_S = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def last_activity(bus: Bus, transcripts: Transcripts) -> datetime | None:
    """Return when the operator was last seen, or None for never."""
    events = bus.read_state(type=OPERATOR_EVENTS, limit=1)
    moments = [event.ts for event in events] + [turn.ts for turn in islice(transcripts.newest(), 1)]
    return max(moments, default=None)


def is_idle(bus: Bus, transcripts: Transcripts, *, now: datetime, for_at_least: timedelta) -> bool:
    """Tell whether the operator has not been seen for `for_at_least`."""
    seen = last_activity(bus, transcripts)
    return seen is None or now - seen >= for_at_least


def never() -> bool:
    """Stand in for `returned_since` where nobody's return is to stop anything."""
    return False


def returned_since(bus: Bus, transcripts: Transcripts, begun: datetime, *, every_s: float = 2.0) -> Callable[[], bool]:
    """Return a function that tells whether the operator came back after `begun`; it looks at most every `every_s`."""
    state = {"next": 0.0, "returned": False}

    def returned() -> bool:
        if not state["returned"] and time.monotonic() >= state["next"]:
            state["next"] = time.monotonic() + every_s
            seen = last_activity(bus, transcripts)
            state["returned"] = seen is not None and seen > begun
        return bool(state["returned"])

    return returned


def parse_duration(text: str) -> timedelta:
    """Return the length behind "90m", "2h" or "1d"; ConfigError for anything else."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([smhd])\s*", text)
    if not match:
        raise ConfigError(f"duration {text!r} is not understood; write a number and s, m, h or d, e.g. 2h")
    return timedelta(seconds=float(match[1]) * UNITS_S[match[2]])
