"""Run a night: one at a time, its notebooks in order, each in a process of its own, ending in a page."""

from __future__ import annotations

import json
import os
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from cipher_nb.night.alone import alone
from cipher_nb.night.folder import NightFolder, begun_at, list_nights, new_night, resumable, take_up
from cipher_nb.night.idle import is_idle, last_activity
from cipher_nb.night.jobs import Job, NotebookJob, check_parameters
from cipher_nb.night.parts import Parts
from cipher_nb.night.publish import headline
from cipher_nb.records import format_ts

Page = Callable[[Path], Path]
"""Makes the page of the night in a folder and returns where it is."""
Watch = Callable[[NightFolder, str], None]
"""Called about twice a second with the night and the name of the notebook that runs."""


@dataclass(frozen=True)
class NightOutcome:
    """How a night ended. `status`: staged, archived, nothing (too little to learn), stopped, failed, or not-idle."""

    run_id: str
    status: str
    headline: str
    report: str = ""
    resumed: bool = False


def run_night(
    parts: Parts,
    job: Job,
    *,
    page: Page,
    when_idle: timedelta | None = None,
    on_watch: Watch | None = None,
) -> NightOutcome:
    """Run `job` to its end, or resume the night that died or was stopped, and return how it ended.

    Every night that began ends with a page. Raises NightBusyError when another night or trials run, ConfigError for a
    job whose parameters do not fit its notebooks; neither begins a night.
    """
    check_parameters(job)
    with alone(parts):
        now = parts.clock()
        if when_idle is not None and not is_idle(parts.bus, parts.transcripts, now=now, for_at_least=when_idle):
            seen = last_activity(parts.bus, parts.transcripts)
            since = format_ts(seen) if seen else "never"
            return NightOutcome("", "not-idle", f"the operator is active (last seen {since}); no night was begun")
        _close_the_dead(parts, page)
        old = resumable(parts.paths.nights, now)
        folder = old or new_night(parts.paths.nights, now)
        if old:
            take_up(old, now)
        status, reason = _run_notebooks(parts, job, folder, stop_when_active=when_idle is not None, on_watch=on_watch)
        return _end(parts, folder, status, reason, page, resumed=old is not None)


def _close_the_dead(parts: Parts, page: Page) -> None:
    """Give every night that died too long ago to be resumed its ending and its page."""
    old = resumable(parts.paths.nights, parts.clock())
    for folder in list_nights(parts.paths.nights):
        if folder.ending() is None and folder != old:
            _end(parts, folder, "failed", "the night died and was too old to be resumed", page)


def _run_notebooks(
    parts: Parts, job: Job, folder: NightFolder, *, stop_when_active: bool, on_watch: Watch | None
) -> tuple[str, str]:
    """Return the status and, where it is not plain success, the reason."""
    for notebook in job.notebooks:
        if notebook.stages and not set(notebook.stages) & set(folder.unfinished()):
            continue
        error = _run_notebook(parts, notebook, folder, stop_when_active=stop_when_active, on_watch=on_watch)
        if error:
            stopped = error["name"] == "NightStoppedError"
            text = error["text"] if stopped else f"{notebook.path.name}: {error['name']}: {error['text']}"
            return ("stopped" if stopped else "failed"), text
        missing = [stage for stage in notebook.stages if stage in folder.unfinished()]
        if missing:
            return "failed", f"{notebook.path.name} ended without its result: {', '.join(missing)}"
        collected = folder.result("collect") or {"sufficient": True}
        if not collected["sufficient"]:
            return "nothing", str(collected["reason"])
    return str(folder.require("stage")["status"]), ""


def _run_notebook(
    parts: Parts, notebook: NotebookJob, folder: NightFolder, *, stop_when_active: bool, on_watch: Watch | None
) -> dict[str, str] | None:
    own: Mapping[str, Any] = {
        "workspace": str(parts.paths.root),
        "run_id": folder.run_id,
        "stop_when_active": stop_when_active,
    }
    request = {
        "input": str(notebook.path),
        "output": str(folder.path / notebook.path.name),
        "parameters": {**notebook.parameters, **own},
        "cwd": str(folder.path),
    }
    with (folder.path / f"{notebook.path.stem}.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "cipher_nb.night.kernel"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            start_new_session=True,
            env={**os.environ, "PYDEVD_DISABLE_FILE_VALIDATION": "1", "TQDM_DISABLE": "1"},
        )
    try:
        return _await(process, request, notebook, folder, on_watch)
    finally:
        if process.stdin:
            process.stdin.close()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _await(
    process: subprocess.Popen[bytes],
    request: Mapping[str, Any],
    notebook: NotebookJob,
    folder: NightFolder,
    on_watch: Watch | None,
) -> dict[str, str] | None:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(request).encode() + b"\n")
    process.stdin.flush()
    deadline = time.monotonic() + notebook.timeout_s
    while not select.select([process.stdout], [], [], 0.5)[0]:
        if on_watch:
            on_watch(folder, notebook.path.stem)
        if time.monotonic() > deadline:
            limit = f"it ran past its {notebook.timeout_s:g} s; raise timeout_s in the job file"
            return {"name": "Timeout", "text": limit}
    line = process.stdout.readline()
    if not line:
        return {"name": "Killed", "text": f"the notebook's process died; its log is {notebook.path.stem}.log"}
    error = json.loads(line)["error"]
    return None if error is None else {"name": str(error["name"]), "text": str(error["text"])}


def _end(
    parts: Parts, folder: NightFolder, status: str, reason: str, page: Page, *, resumed: bool = False
) -> NightOutcome:
    summary = headline(folder) if status in ("staged", "archived") else f"{_WORDS[status]}: {reason}"
    started = begun_at(folder)
    folder.end(
        {
            "run_id": folder.run_id,
            "status": status,
            "headline": summary,
            "reason": reason,
            "started": _ts(started),
            "finished": format_ts(parts.clock()),
            "workspace": parts.paths.root.name,
        }
    )
    if status != "stopped":  # nothing goes on from what is left of its training
        shutil.rmtree(folder.training, ignore_errors=True)
    if status == "failed":
        parts.bus.append("error", source="night", message=summary)
    return NightOutcome(folder.run_id, status, summary, _page(parts, folder, page), resumed)


def _page(parts: Parts, folder: NightFolder, page: Page) -> str:
    try:
        return str(page(folder.path))
    except Exception as error:  # noqa: BLE001 - the night is over and its result stands, whatever the page meets
        parts.bus.append("error", source="report", message=f"{type(error).__name__}: {error}")
        return ""


def _ts(seconds: float) -> str:
    from datetime import UTC, datetime

    return format_ts(datetime.fromtimestamp(seconds, UTC))


_WORDS = {
    "nothing": "Nothing to learn",
    "stopped": "Stopped",
    "failed": "COULD_NOT_RUN",
}
