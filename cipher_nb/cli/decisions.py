"""Commands of the operator's decision: what is pending, apply, review, skip, rollback, and the build-time check."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from cipher_nb.cli.output import Output, on_workspace, table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cipher_nb.adapters.decisions import Decision
    from cipher_nb.adapters.lineage import Adapter
    from cipher_nb.workspace import Workspace


@click.command()
@on_workspace
def adapters(*, ws: Workspace, out: Output) -> None:
    """Show which adapter is production, which is staged, and where every adapter comes from."""
    state, rows = ws.registry.state(), ws.lineage()
    archived = [{"adapter": name, "reason": reason} for name, reason in state.archived.items()]
    archived_bytes = sum(row.bytes for row in rows if row.role == "archived")
    data = {
        "production": state.production,
        "previous": state.previous,
        "staged": state.staged or None,
        "archived": archived,
        "adapters": [row.to_json() for row in rows],
        "archived_bytes": archived_bytes,
    }
    roles = [("production", state.production, state.warning(state.production))]
    roles += [("previous", state.previous, ""), ("staged", state.staged or "none", state.warning(state.staged))]
    size = f"archived adapters take {_megabytes(archived_bytes)} in {ws.registry.folder}"
    out.result(data, "\n".join((table(list(roles), empty=""), *_lineage(rows), *[size] * bool(archived_bytes))))


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
        marked = ws.registry.state().why_marked(found.adapter)
        first = f"not to be applied, since {marked}" if marked else f"cipher-nb apply {found.ref}"
        text += f"\n\n{first}\ncipher-nb review {found.id}\ncipher-nb skip {found.ref}"
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
    """Serve what was production before; one that saw purged events makes way for none that did too."""
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


def _lineage(rows: list[Adapter]) -> Iterator[str]:
    """Yield a table of the adapters, and under each what does not fit into columns."""
    if not rows:
        return
    heads = ("adapter", "role", "made", "base", "loss", "gate", "size")
    head, *lines = table([heads, *[_columns(row) for row in rows]], empty="").splitlines()
    yield f"\n{head}"
    for row, line in zip(rows, lines, strict=True):
        yield line
        night = f"night {row.night}" if row.night else ""
        marked = row.marked.in_words() if row.marked else ""
        pairs = ", ".join(f"{count} {kind}" for kind, count in row.pairs.items())
        yield "  " + "; ".join(filter(None, (night, f"pairs: {pairs}", row.reason, marked, row.problem)))


def _columns(row: Adapter) -> tuple[str, ...]:
    delta = "" if row.composite_delta is None else f" {row.composite_delta:+.2f}"
    loss = "" if row.loss is None else f"{row.loss:.3f}"
    made = row.made[:16].replace("T", " ")
    return row.adapter, row.role, made, row.base, loss, f"{row.verdict}{delta}", _megabytes(row.bytes)


def _megabytes(size: int) -> str:
    return f"{size / 1e6:.1f} MB"


def _rounded(row: tuple[object, ...]) -> tuple[str, ...]:
    return tuple(f"{cell:.3f}" if isinstance(cell, float) else str(cell) for cell in row)


COMMANDS = (adapters, changelog, apply, review, skip, rollback, check)
