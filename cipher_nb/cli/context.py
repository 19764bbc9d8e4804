"""Commands of the context healing: the bus, what was learned from it, the scaffold, and the chat that uses it."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click
import orjson

from cipher_nb.cli.output import Output, on_workspace, table
from cipher_nb.errors import ConfigError
from cipher_nb.records import format_ts, new_id

if TYPE_CHECKING:
    from cipher_nb.workspace import Workspace


@click.command()
@click.option("--type", "kind", default=None, help="Only events of this type.")
@click.option("--since", default=None, metavar="24h", help="Only events of the last so many s, m, h or d.")
@click.option("--limit", default=20, show_default=True, type=click.IntRange(min=1))
@on_workspace
def state(*, ws: Workspace, out: Output, kind: str | None, since: str | None, limit: int) -> None:
    """Show the newest events of the state bus."""
    from cipher_nb.night.idle import parse_duration

    moment = ws.clock() - parse_duration(since) if since else None
    events = ws.bus.read_state(type=kind, since=moment, limit=limit)
    rows = [(format_ts(event.ts), event.type, _gist(event.fields)) for event in events]
    out.result([event.to_json() for event in events], table(rows, empty="the bus is empty"))


@click.command()
@click.argument("type")
@click.argument("fields", nargs=-1, metavar="KEY=VALUE …")
@on_workspace
def event(*, ws: Workspace, out: Output, type: str, fields: tuple[str, ...]) -> None:
    """Append one event to the bus, for hooks and other programs."""
    name = new_id(ws.clock())
    written = ws.bus.append(type, **{"id": name, **dict(_field(text) for text in fields)})
    out.result({"written": written, "id": name}, name if written else f"{type} was not written; see: cipher-nb state")
    if not written:
        out.no()


@click.command()
@click.option("--min-count", default=3, show_default=True, type=click.IntRange(min=1))
@click.option("--limit", default=15, show_default=True, type=click.IntRange(min=1))
@on_workspace
def learned(*, ws: Workspace, out: Output, min_count: int, limit: int) -> None:
    """Show the patterns that were approved often enough to enter the next prompt."""
    lines = ws.learned(min_count=min_count, limit=limit)
    rows = [(line.line, f"{line.approved}/{line.count}", f"{line.rate:.0%}") for line in lines]
    data = [
        {
            "pattern": line.pattern,
            "approved": line.approved,
            "count": line.count,
            "rate": line.rate,
            "line": line.line,
        }
        for line in lines
    ]
    out.result(data, table(rows, empty=f"nothing was seen {min_count} times and approved at least 60 % of them yet"))


@click.command()
@click.option("--tier", default=None, help="Another budget than that of cipher.toml.")
@on_workspace
def scaffold(*, ws: Workspace, out: Output, tier: str | None) -> None:
    """Show the system text of the next prompt."""
    composed = ws.scaffold(tier=tier)
    out.result({**asdict(composed), "dropped": list(composed.dropped)}, composed.text)
    if composed.dropped and not out.as_json:
        out.say(f"({composed.lines} lines, {composed.bytes} bytes; {len(composed.dropped)} lines found no room)")


@click.command()
@click.argument("text")
@click.option("--task", default=None, metavar="ID", help="Go on with this conversation.")
@on_workspace
def chat(*, ws: Workspace, out: Output, text: str, task: str | None) -> None:
    """Ask the served model, with the scaffold in its system slot."""
    answer = ws.chat(text, task=task)
    data = {"text": answer.text, "task": answer.task, "adapter": answer.turn.adapter, "scaffold": answer.scaffold.text}
    out.result(data, answer.text)


def _gist(fields: Any) -> str:
    hidden = ("task", "session")
    return ", ".join(f"{key}={value}" for key, value in fields.items() if key not in hidden)[:120]


def _field(text: str) -> tuple[str, Any]:
    """Return KEY=VALUE as a pair; true, false and numbers become JSON values, everything else stays text."""
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise ConfigError(f"field {text!r} is not KEY=VALUE; write e.g. pattern='uses pathlib'")
    try:
        parsed = orjson.loads(value)
    except orjson.JSONDecodeError:
        return key, value
    return key, parsed if isinstance(parsed, bool | int | float) else value


COMMANDS = (state, event, learned, scaffold, chat)
