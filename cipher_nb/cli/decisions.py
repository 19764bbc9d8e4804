"""Commands of the operator's decision: what is pending, apply, review, skip, rollback, and the build-time check."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from cipher_nb.cli.output import Output, on_workspace, table

if TYPE_CHECKING:
    from cipher_nb.adapters.decisions import Decision
    from cipher_nb.workspace import Workspace


@click.command()
@on_workspace
def adapters(*, ws: Workspace, out: Output) -> None:
    """Show which adapter is production, which is staged, and what was archived and why."""
    state = ws.registry.state()
    archived = [{"adapter": name, "reason": reason} for name, reason in state.archived.items()]
    data = {"production": state.production, "previous": state.previous, "staged": state.staged or None}
    rows = [("production", state.production), ("previous", state.previous), ("staged", state.staged or "none")]
    rows += [("archived", f"{row['adapter']}  {row['reason']}") for row in archived]
    out.result({**data, "archived": archived}, table(list(rows), empty=""))


@click.command()
@on_workspace
def changelog(*, ws: Workspace, out: Output) -> None:
    """Show the newest changelog, with the name a decision needs."""
    found = ws.changelog()
    if found is None:
        out.result(None, "no night has published a changelog yet")
        return
    now = ws.clock()
    stale = found.stale(now)
    hours = found.age(now).total_seconds() / 3600
    head = f"{found.ref}  {found.status}{' (stale)' * stale}, {hours:.0f} h old, gate: {found.verdict}"
    text = f"{head}\n\n{found.text()}"
    if found.status == "pending":
        text += f"\n\ncipher-nb apply {found.ref}\ncipher-nb review {found.id}\ncipher-nb skip {found.ref}"
    out.result(found.to_json_at(now), text)


@click.command()
@click.argument("ref", metavar="ID@HASH")
@click.option("--confirm", "confirmed", is_flag=True, help="Apply although the gate could not prove it better.")
@on_workspace
def apply(*, ws: Workspace, out: Output, ref: str, confirmed: bool) -> None:
    """Serve the staged adapter: swapped while the engine runs, and proved."""
    decision = ws.decide("apply", ref, confirmed=confirmed, by="cli")
    if decision.status == "confirm" and not out.as_json and click.confirm(decision.message, err=True):
        decision = ws.decide("apply", ref, confirmed=True, by="cli")
    _print(out, decision)


@click.command()
@click.argument("ref", metavar="ID@HASH")
@on_workspace
def skip(*, ws: Workspace, out: Output, ref: str) -> None:
    """Keep what is served and set the staged adapter aside."""
    _print(out, ws.decide("skip", ref, by="cli"))


@click.command()
@on_workspace
def rollback(*, ws: Workspace, out: Output) -> None:
    """Serve what was production before."""
    _print(out, ws.decide("rollback", by="cli"))


@click.command()
@click.argument("night_id", metavar="ID")
@on_workspace
def review(*, ws: Workspace, out: Output, night_id: str) -> None:
    """Show what a night did: its changelog, its deltas and where its report is."""
    from cipher_nb.night.folder import open_night

    folder = open_night(ws.paths.nights, night_id)
    gate, log = folder.require("gate"), folder.require("changelog")
    rows = [(row["category"], row["production"], row["candidate"], row["delta"]) for row in gate["rule"]["categories"]]
    body = table([("category", "production", "candidate", "delta"), *[_rounded(row) for row in rows]], empty="")
    text = f"{log['text']}\n\n{body}\n\nverdict: {gate['verdict']} ({gate['reason']})\nreport: {folder.report}"
    out.result({"changelog": log, "gate": gate, "report": str(folder.report)}, text)


@click.command()
@on_workspace
def check(*, ws: Workspace, out: Output) -> None:
    """Build-time gate: 1 if production is below the base, or a staged adapter fails the rule."""
    problems = ws.check()
    out.result({"passed": not problems, "problems": problems}, "\n".join(problems) or "production and staged hold")
    if problems:
        out.no()


def _print(out: Output, decision: Decision) -> None:
    out.result(asdict(decision), decision.message)
    if decision.status in ("confirm", "reverted"):
        out.no()


def _rounded(row: tuple[object, ...]) -> tuple[str, ...]:
    return tuple(f"{cell:.3f}" if isinstance(cell, float) else str(cell) for cell in row)


COMMANDS = (adapters, changelog, apply, review, skip, rollback, check)
