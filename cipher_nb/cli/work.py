"""Commands of the sandbox: propose and verify a change, approve or reject it, ship it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from cipher_nb.cli.output import Output, on_workspace

if TYPE_CHECKING:
    from cipher_nb.tasks import Task
    from cipher_nb.workspace import Workspace


@click.command()
@click.argument("intent")
@click.option("--check", "checks", multiple=True, metavar="CMD", help="A command that must pass; may be repeated.")
@click.option("--file", "files", multiple=True, metavar="PATH", help="A file to show to the model; may be repeated.")
@click.option("--edits", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="Take the edits from here.")
@on_workspace
def task(
    *, ws: Workspace, out: Output, intent: str, checks: tuple[str, ...], files: tuple[str, ...], edits: Path | None
) -> None:
    """Propose a change, verify it in a sandbox, and show the diff if every check passed."""
    if edits:
        text = edits.read_text(encoding="utf-8")
        done = ws.tasks.verify(text, intent=intent, checks=checks, scaffold=ws.scaffold().text, on_progress=out.say)
    else:
        done = ws.propose(intent, checks=checks, files=files, on_progress=out.say)
    out.result(done.to_json() | {"task": done.id}, _page(done))
    if not done.verified:
        out.no()


@click.command()
@click.argument("task_id", metavar="TASK")
@click.option("--pattern", default="", help="What this approval is an example of; it counts towards a [learned] line.")
@on_workspace
def approve(*, ws: Workspace, out: Output, task_id: str, pattern: str) -> None:
    """Bring a verified change to the real files, all of it or nothing."""
    done = ws.tasks.approve(task_id, pattern=pattern)
    out.result(done.to_json() | {"task": done.id}, f"approved {done.id}; commit it with: cipher-nb ship {done.id}")


@click.command()
@click.argument("task_id", metavar="TASK")
@click.option("--reason", required=True)
@click.option("--pattern", default="", help="What this rejection is an example of.")
@on_workspace
def reject(*, ws: Workspace, out: Output, task_id: str, reason: str, pattern: str) -> None:
    """Turn a proposed change down."""
    done = ws.tasks.reject(task_id, reason=reason, pattern=pattern)
    out.result(done.to_json() | {"task": done.id}, f"rejected {done.id}")


@click.command()
@click.argument("task_id", metavar="TASK")
@on_workspace
def undo(*, ws: Workspace, out: Output, task_id: str) -> None:
    """Take an approval back: every file is what it was before."""
    done = ws.tasks.undo(task_id)
    out.result(done.to_json() | {"task": done.id}, f"undone {done.id}; the files are as they were before its approval")


@click.command()
@click.argument("task_id", metavar="TASK")
@on_workspace
def ship(*, ws: Workspace, out: Output, task_id: str) -> None:
    """Commit an approved change."""
    done = ws.tasks.ship(task_id)
    out.result(done.to_json() | {"task": done.id}, f"shipped {done.id} as {done.commit_sha[:12]}")


def _page(done: Task) -> str:
    checks = [f"  {'passed' if check['passed'] else 'FAILED'}  {check['command']}" for check in done.checks]
    held_in_by = sorted({str(check["isolation"]) for check in done.checks})
    checks += [f"  held in by: {', '.join(held_in_by)}"] if held_in_by else []
    head = f"task {done.id}: {done.status} after {done.attempts} attempt{'s' * (done.attempts != 1)}"
    if not done.verified:
        return "\n".join([head, *checks, done.reason, "no diff: only verified changes are shown"])
    return "\n".join([head, *checks, "", done.diff, f"approve it with: cipher-nb approve {done.id} --pattern …"])


COMMANDS = (task, approve, reject, undo, ship)
