"""A workspace with approved work of a few days, and nights over it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from cipher_nb.night.folder import NightFolder, new_night
from cipher_nb.records import Turn
from cipher_nb.testing import MovableClock
from cipher_nb.workspace import Workspace

EVENING = datetime(2026, 11, 30, 22, tzinfo=UTC)
ONE_CATEGORY = '[battery]\ncategories = ["settings"]\nper_category = 8\nfail_below = 0.0\n'


def workspace(root: Path, *, settings: str = "", clock: MovableClock | None = None) -> Workspace:
    Workspace.init(root)
    (root / ".aide" / "cipher.toml").write_text(ONE_CATEGORY + settings)
    return Workspace.open(root, clock=clock or MovableClock(EVENING))


def turn(ws: Workspace, task: str, answer: str = "", *, question: str = "", minutes: int = 30) -> None:
    moment = ws.clock() - timedelta(minutes=minutes)
    messages = ({"role": "user", "content": question or f"What is the job of {task}?"},)
    ws.transcripts.append(
        Turn(f"turn-{task}-{minutes}", moment, task, "proposal", messages, answer or f"It does {task}.")
    )


def event(ws: Workspace, type_: str, task: str, *, minutes: int = 10, name: str = "", **fields: object) -> str:
    known = {
        "gate": {"gate": "pytest", "passed": True, "duration_ms": 5},
        "approval": {"tool": "edit", "pattern": "", "summary": ""},
        "rejection": {"tool": "edit", "pattern": "", "summary": ""},
        "ship": {"commit_sha": f"sha-{task}", "files_count": 1, "intent": ""},
    }[type_]
    name = name or f"{type_}-{task}-{minutes}-{ws.clock():%d}"
    told = {"task": task} if task else {}
    assert ws.bus.append(type_, **{**known, **told, **fields}, ts=ws.clock() - timedelta(minutes=minutes), id=name)
    return name


def approve(ws: Workspace, *tasks: str) -> None:
    """Put tasks on the bus as the operator leaves them in the last half hour: answered, checked, approved."""
    for task in tasks:
        turn(ws, task)
        event(ws, "gate", task, minutes=20)
        event(ws, "approval", task)


def night(ws: Workspace) -> NightFolder:
    return new_night(ws.paths.nights, ws.clock())


def pass_days(ws: Workspace, days: float) -> None:
    assert isinstance(ws.clock, MovableClock)
    ws.clock.set(ws.clock() + timedelta(days=days))
