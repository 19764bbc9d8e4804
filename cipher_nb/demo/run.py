"""Run the demo: fetch the model, live the week, run the night, say what came of it."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from cipher_nb.chat import ask
from cipher_nb.demo.repository import make_repository
from cipher_nb.demo.week import CHATS, WEEK, Errand
from cipher_nb.engine.models import fetch_model
from cipher_nb.night.measure import night_servers
from cipher_nb.night.run import NightOutcome, Watch
from cipher_nb.paths import user_cache
from cipher_nb.report.page import write
from cipher_nb.testing import MovableClock, ScriptedModel
from cipher_nb.workspace import Workspace

MODEL = "smollm2-135m"
WEEK_HOURS = 168.0
CONFIG = """\
# The demo's settings; everything else is the default.
[sandbox]
checks = ["python -m pytest -q"]
[battery]
# four of the nineteen categories and fewer practice pairs, to be done in minutes
categories = ["command registry", "keybindings", "settings", "agent tools"]
per_category = 64
max_practice_pairs = 80
practice_pairs = 64
"""

Say = Callable[[str], None]
Fetching = Callable[[str], AbstractContextManager[Callable[[int, int], None]]]


@dataclass(frozen=True)
class DemoOutcome:
    """What the demo left: where, how its night ended, the changelog's text and reference, and the minutes it took."""

    workspace: str
    status: str
    headline: str
    changelog: str
    ref: str
    report: str
    minutes: float

    def text(self) -> str:
        """Return the closing page for the terminal."""
        lines = [self.headline, "", self.changelog, ""]
        if self.status == "staged":
            where = f"--workspace {self.workspace}"
            lines += [
                f"apply it:    cipher-nb apply {self.ref} {where}",
                f"look closer: cipher-nb review {self.ref.split('@')[0]} {where}",
                f"or keep the model as it is: cipher-nb skip {self.ref} {where}",
                "",
            ]
        return "\n".join([*lines, f"report: {self.report}", f"({self.minutes:.1f} minutes)"])


def run_demo(
    folder: Path, *, say: Say, fetching: Fetching, on_watch: Watch, on_night_over: Callable[[], None]
) -> DemoOutcome:
    """Make the sample workspace in `folder`, live the week in it and run one night on the embedded model.

    Takes some minutes on two cores. Raises ConfigError when the folder is not empty, ModelFetchError without network.
    """
    started = time.monotonic()
    with fetching(MODEL) as on_progress:
        fetch_model(MODEL, cache=user_cache(), on_progress=on_progress)
    ws = live_week(folder, say=say)
    say("\nContext healing: what the next prompt tells the model")
    for line in ws.learned():
        say(f"  {line.line}  ({line.approved} of {line.count} approved)")
    say("\nThe night: collect, train, export, battery, gate, stage, changelog")
    outcome = _night(ws, on_watch, on_night_over)
    return _outcome(ws, outcome, (time.monotonic() - started) / 60)


def live_week(folder: Path, *, say: Say) -> Workspace:
    """Make the repository and do the week's errands and chats in it, each at its time; return the workspace.

    Every proposal goes through the sandbox; the model's part is scripted, the chats are answered by the embedded model.
    """
    clock = MovableClock()
    now = clock()
    clock.set(now - timedelta(hours=WEEK_HOURS - 12))
    make_repository(folder, when=clock())
    ws = Workspace.init(folder, clock=clock)
    ws.paths.config.write_text(CONFIG, encoding="utf-8")
    ws = Workspace.open(folder, clock=clock)
    say(f"A week in {ws.paths.root}")
    with night_servers(ws.parts, []) as model:
        for hours_ago, question in CHATS:
            clock.set(now - timedelta(hours=hours_ago))
            ask(question, model=model, scaffold=ws.scaffold(), transcripts=ws.transcripts, clock=clock, max_tokens=60)
    for errand in WEEK:
        clock.set(now - timedelta(hours=errand.hours_ago))
        say(f"  {_do(ws, errand)}")
    return Workspace.open(folder)


def _do(ws: Workspace, errand: Errand) -> str:
    task = ws.tasks.propose(
        errand.intent,
        model=ScriptedModel(errand.proposals),
        scaffold=ws.scaffold().text,
        files=errand.files,
        model_name="scripted",
    )
    tries = f"{task.attempts} attempt{'s' * (task.attempts != 1)}"
    if errand.decision == "ship" and task.verified:
        ws.tasks.approve(task.id, pattern=errand.pattern)
        return f"shipped   {ws.tasks.ship(task.id).commit_sha[:7]}  {errand.intent} ({tries})"
    if errand.decision == "reject" and task.verified:
        ws.tasks.reject(task.id, reason=errand.reason, pattern=errand.pattern)
        return f"rejected          {errand.intent} ({errand.reason})"
    return f"{task.status:9}         {errand.intent} ({tries}, no diff was shown)"


def _night(ws: Workspace, on_watch: Watch, on_night_over: Callable[[], None]) -> NightOutcome:
    try:
        return ws.run_night(page=write, parameters={"since_hours": WEEK_HOURS}, on_watch=on_watch)
    finally:
        on_night_over()


def _outcome(ws: Workspace, outcome: NightOutcome, minutes: float) -> DemoOutcome:
    changelog = ws.changelog()
    return DemoOutcome(
        workspace=str(ws.paths.root),
        status=outcome.status,
        headline=outcome.headline,
        changelog=changelog.text() if changelog else "",
        ref=changelog.ref if changelog else "",
        report=outcome.report,
        minutes=round(minutes, 2),
    )
