"""Commands of the night: run it, look at it, and its two measuring tools, battery and gate."""

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
    from cipher_nb.night.run import is_running

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


@click.group()
def battery() -> None:
    """The battery: what the gate asks."""


@battery.command("run")
@click.option("--adapter", default="production", show_default=True, help="base, production, staged or an adapter's id.")
@click.option("--per-category", default=None, type=click.IntRange(min=1), help="Default: cipher.toml.")
@on_workspace
def battery_run(*, ws: Workspace, out: Output, adapter: str, per_category: int | None) -> None:
    """Ask the battery of an adapter; what was asked before is not asked again."""
    from tqdm import tqdm

    with tqdm(desc=f"battery of {adapter}", unit="") as bar:

        def show(done: int, total: int) -> None:
            bar.total = total
            bar.update(done - bar.n)

        results = ws.measure(adapter, per_category=per_category, on_progress=show)
    scores = results.category_scores()
    rows = [(name, f"{score:.3f}") for name, score in sorted(scores.items(), key=lambda row: row[1])]
    data = {"fingerprint": results.header.fingerprint if results.header else "", "categories": scores}
    out.result(
        {**data, "composite": results.composite()},
        table([*rows, ("composite", f"{results.composite():.3f}")], empty=""),
    )


@battery.command("list")
@on_workspace
def battery_list(*, ws: Workspace, out: Output) -> None:
    """List the categories, their families and how many samples the gate asks."""
    from cipher_nb.night.measure import sealed_samples

    counts: dict[tuple[str, str], int] = {}
    for sample in sealed_samples(ws.config):
        counts[sample.category, sample.family] = counts.get((sample.category, sample.family), 0) + 1
    data = [{"category": name, "family": family, "samples": count} for (name, family), count in counts.items()]
    out.result(data, table([tuple(row.values()) for row in data], empty="none"))


@click.command()
@click.argument("baseline")
@click.argument("candidate")
@on_workspace
def gate(*, ws: Workspace, out: Output, baseline: str, candidate: str) -> None:
    """Compare two results: files, or base, production, staged or an adapter's id."""
    from cipher_nb.battery.gate import compare

    judged = compare(ws.results(baseline), ws.results(candidate))
    data = judged.to_json()
    rows = [(row["category"], _signed(row["delta"])) for row in data["rule"]["categories"]]
    rule = "passed" if data["rule"]["passed"] else f"failed: {data['rule']['reason']}"
    out.result(data, f"{table(rows, empty='')}\nrule: {rule}\nverdict: {data['verdict']} ({data['reason']})")
    if data["verdict"] == "COULD_NOT_RUN":
        out.unknown()
    if data["verdict"] == "REGRESSION" or not data["rule"]["passed"]:
        out.no()


def _signed(delta: float | None) -> str:
    return "not scored" if delta is None else f"{delta:+.3f}"


COMMANDS = (night, report, battery, gate)
