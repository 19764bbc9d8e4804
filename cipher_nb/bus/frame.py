"""Events as a pandas frame, for exploring them."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from cipher_nb.records import UNDATED, Event

if TYPE_CHECKING:
    from pandas import DataFrame

REPEATED = ("type", "tool", "pattern", "gate", "from", "to", "engine", "direction", "source", "task", "session")
TEXTS = ("id", "summary", "commit_sha", "intent", "message")
NUMBERS = ("files_count", "duration_ms")
NOT_A_TIME = -(2**63)


@dataclass
class _Column:
    """The rows that have a value, and the values; what repeats is kept once and numbered."""

    rows: array[int] = field(default_factory=lambda: array("q"))
    values: list[Any] = field(default_factory=list)
    codes: array[int] = field(default_factory=lambda: array("i"))
    known: dict[str, int] = field(default_factory=dict)

    def add(self, row: int, value: Any) -> None:
        self.rows.append(row)
        self.values.append(value)

    def add_repeated(self, row: int, value: Any) -> None:
        self.rows.append(row)
        text = value if isinstance(value, str) else str(value)
        self.codes.append(self.known.setdefault(text, len(self.known)))


def frame_of(newest_first: Iterable[Event]) -> DataFrame:
    """Return one row an event, oldest first.

    Columns: `ts` (UTC, NaT where a line told none), `type`, `id`, every known field, `task`, `session`, and `extra`:
    a dict of the unknown keys, or None. Repeated texts are categories, numbers floats, `passed` is boolean or NA.
    """
    import pandas as pd

    times = array("q")
    columns = {name: _Column() for name in (*REPEATED, *TEXTS, *NUMBERS, "passed", "extra")}
    adders = {name: column.add_repeated if name in REPEATED else column.add for name, column in columns.items()}
    for row, event in enumerate(newest_first):
        times.append(NOT_A_TIME if event.ts == UNDATED else round(event.ts.timestamp() * 1000))
        adders["type"](row, event.type)
        adders["id"](row, event.id)
        extra = {}
        for name, value in event.fields.items():
            add = adders.get(name)
            if add is None or name == "extra":
                extra[name] = value
            elif value is not None:
                add(row, value)
        if extra:
            adders["extra"](row, extra)
    filled = {name: _filled(name, column, len(times)) for name, column in columns.items()}
    return pd.DataFrame({"ts": _moments(times), **filled})[::-1].reset_index(drop=True)


def _moments(times: array[int]) -> Any:
    import numpy as np
    import pandas as pd

    return pd.to_datetime(np.array(times, dtype="i8").view("M8[ms]"), utc=True)


def _filled(name: str, column: _Column, count: int) -> Any:
    """Return the column at its whole length, with nothing where an event had no such field."""
    import numpy as np
    import pandas as pd

    rows = np.array(column.rows, dtype="i8")
    if name in REPEATED:
        codes = np.full(count, -1, dtype="i4")
        codes[rows] = column.codes
        return pd.Categorical.from_codes(codes, pd.Index(list(column.known), dtype="str"))
    if name in NUMBERS:
        numbers = np.full(count, np.nan)
        numbers[rows] = [_number(value) for value in column.values]
        return numbers
    values = np.full(count, None, dtype=object)
    for row, value in zip(rows, column.values, strict=True):  # one by one: numpy would take a list for a row
        values[row] = _plain(name, value)
    return pd.Series(values, dtype={"passed": "boolean", "extra": "object"}.get(name, "str"))


def _plain(name: str, value: Any) -> Any:
    if name == "passed":
        return value if isinstance(value, bool) else None
    return value if name == "extra" or isinstance(value, str) else str(value)


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else float("nan")
