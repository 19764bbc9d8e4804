"""Commands of the state bus: see what happened, and tell it what did."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
import orjson

from cipher_nb.cli.output import Output, on_workspace, table
from cipher_nb.errors import ConfigError
from cipher_nb.records import Event, format_ts, new_id, parse_ts

if TYPE_CHECKING:
    from datetime import datetime

    from cipher_nb.workspace import Workspace


@click.command()
@click.option("--type", "kinds", multiple=True, help="Only events of this type; may be repeated.")
@click.option("--since", default=None, metavar="24h", help="Only events of the last so many s, m, h or d; or a time.")
@click.option("--until", default=None, metavar="1h", help="Only events before that.")
@click.option("--task", default=None, metavar="ID", help="Only events of this task.")
@click.option("--session", default=None, metavar="ID", help="Only events of this session.")
@click.option("--limit", default=20, show_default=True, type=click.IntRange(min=1))
@click.option("--follow", is_flag=True, help="Then go on and show events as they come, until Ctrl-C.")
@on_workspace
def state(
    *,
    ws: Workspace,
    out: Output,
    kinds: tuple[str, ...],
    since: str | None,
    until: str | None,
    follow: bool,
    **only: Any,
) -> None:
    """Show the newest events of the state bus."""
    if follow and out.as_json:
        raise ConfigError("--follow never ends, and --json is one document; leave one of them out")
    # from before the newest are read, so that none falls in between
    coming = ws.bus.follow(type=kinds or None) if follow else iter(())
    events = ws.bus.read_state(type=kinds or None, since=_moment(ws, since), until=_moment(ws, until), **only)
    out.result([event.to_json() for event in events], table([_row(event) for event in events], empty=_none_found(ws)))
    shown = {event.id for event in events if event.id}
    for event in coming:
        if event.id not in shown:
            click.echo("  ".join(_row(event)))


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
@click.option("--task", "tasks", multiple=True, metavar="ID", help="All of a task: events, turns, pairs, its record.")
@click.option("--event", "ids", multiple=True, metavar="ID", help="One event, and the pairs made from it.")
@click.option("--before", default=None, metavar="30d", help="All that is older: a time, or so many s, m, h or d ago.")
@click.option("--all", "everything", is_flag=True, help="All that was ever recorded.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@on_workspace
def purge(
    *,
    ws: Workspace,
    out: Output,
    tasks: tuple[str, ...],
    ids: tuple[str, ...],
    before: str | None,
    everything: bool,
    yes: bool,
) -> None:
    """Remove what was recorded, for good, and name what was made from it."""
    if not (tasks or ids or before or everything):
        raise ConfigError("purge of nothing; name --task ID, --event ID, --before TIME or --all")
    if (before or everything) and not yes:
        _ask(out, "all that was ever recorded" if everything else f"all that is older than {before}")
    erased = ws.purge(ids=ids, tasks=tasks, before=_moment(ws, before), everything=everything)
    out.result(erased.to_json(), "\n".join(erased.in_words()))


def _ask(out: Output, what: str) -> None:
    if out.as_json:
        raise ConfigError(f"purge of {what} cannot be taken back; say so with --yes")
    click.confirm(f"Remove {what}? This cannot be taken back.", abort=True, err=True)


def _moment(ws: Workspace, text: str | None) -> datetime | None:
    """Return the moment that `text` tells, or so long before now; None for none."""
    from cipher_nb.night.idle import parse_duration

    if text is None:
        return None
    return parse_ts(text) or ws.clock() - parse_duration(text)


def _none_found(ws: Workspace) -> str:
    return "no such events" if ws.bus.read_state(limit=1) else "the bus is empty"


def _row(event: Event) -> tuple[str, str, str]:
    from cipher_nb.chat import visible

    hidden = ("task", "session")
    gist = ", ".join(f"{key}={value}" for key, value in event.fields.items() if key not in hidden)
    return format_ts(event.ts), event.type, " ".join(visible(gist[:400]).split())[:120]


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


COMMANDS = (state, event, purge)
