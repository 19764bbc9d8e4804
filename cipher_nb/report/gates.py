"""Which gates fail most and take longest."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cipher_nb.learned.explain import wilson_low
from cipher_nb.report.plain import one_line
from cipher_nb.report.tables import Table

if TYPE_CHECKING:
    import pandas as pd

GATES_LISTED = 15
NAME_CHARS = 70
LONGEST_MS = 366 * 24 * 3_600_000
"""A duration beyond is no duration."""


@dataclass(frozen=True)
class Gate:
    """What the events tell of one gate; `runs` have an outcome, the durations are None where no run told any."""

    name: str
    runs: int
    failed: int
    median_s: float | None
    p95_s: float | None

    @property
    def failing_share(self) -> float:
        return self.failed / self.runs


def gates(events: pd.DataFrame) -> list[Gate]:
    """Return every gate, worst first: the one that fails most and the one that takes longest take turns.

    Failing is ranked by the lower end of the share's 95 % Wilson interval, so that one failure in one run does not
    outrank forty in a hundred; the time by the 95th percentile.
    """
    failing = sorted(_gates(events), key=lambda gate: (-wilson_low(gate.failed, gate.runs), gate.name))
    slowest = sorted(failing, key=lambda gate: -(gate.p95_s or 0.0))
    turns = (gate for pair in zip(failing, slowest, strict=True) for gate in pair)
    return list(dict.fromkeys(turns))


def _gates(events: pd.DataFrame) -> list[Gate]:
    runs = events.loc[(events["type"] == "gate") & events["passed"].notna(), ["gate", "passed", "duration_ms"]]
    lasting = (runs["duration_ms"] / 1000).where(runs["duration_ms"].between(0, LONGEST_MS))
    by_gate = runs.assign(failed=~runs["passed"].astype(bool), seconds=lasting).groupby("gate", observed=True)
    table = by_gate["failed"].agg(["size", "sum"])
    table["median"], table["p95"] = by_gate["seconds"].median(), by_gate["seconds"].quantile(0.95)
    return [
        Gate(str(name), int(size), int(failed), _known(median), _known(p95))
        for name, size, failed, median, p95 in table.itertuples()
    ]


def _known(value: float) -> float | None:
    return None if math.isnan(value) else float(value)


def gates_table(events: pd.DataFrame) -> Table:
    """Return the worst gates with their runs, failures and durations."""
    found = gates(events)
    rows = [
        (
            one_line(gate.name, NAME_CHARS),
            f"{gate.runs:,}",
            f"{gate.failed:,}",
            share(gate.failing_share),
            seconds(gate.median_s),
            seconds(gate.p95_s),
        )
        for gate in found[:GATES_LISTED]
    ]
    if len(found) > GATES_LISTED:
        rows.append((f"{len(found) - GATES_LISTED:,} more", "", "", "", "", ""))
    return Table(
        head=("Gate", "Runs", "Failed", "Failing", "Median, s", "p95, s"),
        rows=rows,
        empty="No gate has run yet. Every check of a task is one; other programs record theirs with: "
        "cipher-nb event gate gate=NAME passed=true duration_ms=1200",
    )


def share(value: float) -> str:
    """Return a share in percent, with a digit more where it is small and not zero."""
    return f"{value:.1%}" if 0 < value < 0.0095 else f"{value:.0%}"


def seconds(value: float | None) -> str:
    """Return seconds to about two digits that matter, or a dash where there are none."""
    if value is None:
        return "–"
    return f"{value:,.0f}" if value >= 10 else f"{value:.1f}" if value >= 1 else f"{value:.2f}"
