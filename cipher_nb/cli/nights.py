"""Commands of the night: run it, and look at it."""

from __future__ import annotations

import webbrowser
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from cipher_nb.cli.output import Output, on_workspace, table

if TYPE_CHECKING:
    from cipher_nb.workspace import Workspace


class _RunByDefault(click.Group):
    """A group whose name alone, or with options, means its `run` command."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        known = {*self.commands, *ctx.help_option_names}
        return super().parse_args(ctx, args if args and args[0] in known else ["run", *args])


@click.group(cls=_RunByDefault)
def night() -> None:
    """One night, from collect to changelog; `night` alone is `night run`."""


@night.command("run")
@click.option("--when-idle", default=None, metavar="2h", help="Refuse while the operator was active in the last 2 h.")
@click.option("--since", default=None, metavar="24h", help="Learn from the work of the last 24 h.")
@on_workspace
def night_run(*, ws: Workspace, out: Output, when_idle: str | None, since: str | None) -> None:
    """Run one night: collect, train, export, battery, gate, stage, changelog."""
    from cipher_nb.cli.progress import NightBars
    from cipher_nb.night.idle import parse_duration
    from cipher_nb.report.page import write

    bars = NightBars()
    parameters: dict[str, Any] = {"since_hours": parse_duration(since).total_seconds() / 3600} if since else {}
    idle = parse_duration(when_idle) if when_idle else None
    try:
        outcome = ws.run_night(page=write, when_idle=idle, parameters=parameters, on_watch=bars)
    finally:
        bars.close()
    out.result(asdict(outcome), f"{outcome.headline}\n{outcome.report}".strip())
    if outcome.status == "failed":
        out.unknown()
    if outcome.status not in ("staged", "archived"):
        out.no()


@night.command("status")
@on_workspace
def night_status(*, ws: Workspace, out: Output) -> None:
    """Say whether a night runs, and how the newest one stands."""
    from cipher_nb.night.alone import is_running

    newest = next(iter(ws.nights()), None)
    data: dict[str, Any] = {"running": is_running(ws.parts), "run_id": newest.run_id if newest else ""}
    data["unfinished"] = list(newest.unfinished()) if newest else []
    data["ending"] = newest.ending() if newest else None
    ending = data["ending"]["headline"] if data["ending"] else f"unfinished: {', '.join(data['unfinished'])}"
    state = "a night is running" if data["running"] else "no night is running"
    out.result(data, f"{state}; {newest.run_id}: {ending}" if newest else f"{state}; there was none yet")


@night.command("list")
@on_workspace
def night_list(*, ws: Workspace, out: Output) -> None:
    """List all nights, newest first."""
    endings = [
        folder.ending() or {"run_id": folder.run_id, "status": "unfinished", "headline": ""} for folder in ws.nights()
    ]
    rows = [(ending["run_id"], ending["status"], ending["headline"]) for ending in endings]
    out.result(endings, table(rows, empty="there was no night yet"))


@click.command()
@click.argument("run_id", metavar="NIGHT", default="")
@click.option("--open", "open_it", is_flag=True, help="Open it in the browser.")
@on_workspace
def report(*, ws: Workspace, out: Output, run_id: str, open_it: bool) -> None:
    """Write the one-file HTML report of a night (default: the newest) and say where it is."""
    from cipher_nb.night.folder import open_night
    from cipher_nb.report.page import write

    newest = next((folder.run_id for folder in ws.nights()), "")
    path = write(open_night(ws.paths.nights, run_id or newest).path)
    out.result({"report": str(path)}, str(path))
    if open_it:
        webbrowser.open(path.as_uri())


COMMANDS = (night, report)
