"""Commands of the context healing: what was learned from the bus, and the system text that says so."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import asdict
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import click

from cipher_nb.cli.output import Output, on_workspace, table
from cipher_nb.records import format_ts

if TYPE_CHECKING:
    from cipher_nb.learned import Explained
    from cipher_nb.workspace import Workspace

PATTERN_WIDTH, WHY_WIDTH = 34, 32


@click.command()
@click.option("--min-count", default=3, show_default=True, type=click.IntRange(min=1))
@click.option("--limit", default=15, show_default=True, type=click.IntRange(min=1))
@click.option("--explain", is_flag=True, help="Show every pattern, and why it is in or out.")
@on_workspace
def learned(*, ws: Workspace, out: Output, min_count: int, limit: int, explain: bool) -> None:
    """Show the patterns that were approved often enough to enter the next prompt."""
    if explain:
        reasons = ws.explain(min_count=min_count, limit=limit)
        out.result([_reason_json(reason) for reason in reasons], _reason_table(reasons))
        return
    lines = ws.learned(min_count=min_count, limit=limit)
    rows = [
        (line.line, f"{line.approved}/{line.count}", "pinned" if line.pinned else _percent(line.rate)) for line in lines
    ]
    empty = f"nothing was seen {min_count} times and approved at least 60 % of them yet"
    out.result([line.to_json() for line in lines], table(rows, empty=empty))


@click.command()
@click.option("--tier", default=None, help="Another budget than that of cipher.toml.")
@on_workspace
def scaffold(*, ws: Workspace, out: Output, tier: str | None) -> None:
    """Show the system text of the next prompt."""
    composed = ws.scaffold(tier=tier)
    out.result({**asdict(composed), "dropped": list(composed.dropped)}, composed.text)
    if composed.dropped and not out.as_json:
        out.say(f"({composed.lines} lines, {composed.bytes} bytes; {len(composed.dropped)} lines found no room)")


def _reason_json(reason: Explained) -> dict[str, Any]:
    return {**asdict(reason), "newest": format_ts(reason.newest) if reason.newest else None}


def _reason_table(reasons: Sequence[Explained]) -> str:
    head = ("", "pattern", "votes", "rate", "at least", "newest", "why")
    rows = [row for reason in reasons for row in _reason_rows(reason)]
    return table([head, *rows] if rows else [], empty="nothing was voted on yet")


def _reason_rows(reason: Explained) -> list[tuple[str, ...]]:
    """Return one row, and further ones where the pattern or the reason needs more than a line."""
    patterns, why = textwrap.wrap(reason.pattern, PATTERN_WIDTH), textwrap.wrap(reason.why, WHY_WIDTH)
    votes = (
        (f"{reason.approved}/{reason.count}", _percent(reason.rate), _percent(reason.wilson_low))
        if reason.count
        else ("none", "", "")
    )
    first = ("+" if reason.enters else "-", *votes, f"{reason.newest:%Y-%m-%d}" if reason.newest else "")
    mark, *middle = first
    head, *more = zip_longest(patterns, why, fillvalue="")
    return [(mark, head[0], *middle, head[1]), *[("", pattern, "", "", "", "", rest) for pattern, rest in more]]


def _percent(share: float) -> str:
    return f"{share:.0%}"


COMMANDS = (learned, scaffold)
