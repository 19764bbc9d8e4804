"""A workspace small enough to try real trials in."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from cipher_nb.records import Turn, utc_now
from cipher_nb.workspace import Workspace


def approve(ws: Workspace, task: str) -> None:
    """Let a task be answered, verified and approved."""
    messages = ({"role": "user", "content": f"Do task {task}."},)
    ws.transcripts.append(Turn(task, utc_now() - timedelta(seconds=9), task, "chat", messages, f"Done with {task}."))
    ws.bus.append("gate", task=task, gate="pytest", passed=True, duration_ms=1)
    ws.bus.append("approval", task=task, tool="chat", pattern="", summary="")


def small_workspace(folder: Path, *, model: Path, categories: tuple[str, ...], practice_pairs: int) -> Workspace:
    """Return a workspace with two approved tasks, for trials of one epoch."""
    ws = Workspace.init(folder)
    names = ", ".join(f'"{name}"' for name in categories)
    battery = f"[battery]\ncategories = [{names}]\npractice_pairs = {practice_pairs}\n"
    ws.paths.config.write_text(f'[model]\nname = "{model}"\n{battery}[training]\nepochs = 1\n')
    approve(ws, "one")
    approve(ws, "two")
    return Workspace.open(ws.paths.root)
