"""What is installed, what the machine can do, what is wrong, and how to mend it."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Literal

from cipher_nb.engine import daemon
from cipher_nb.engine.swap import BASE
from cipher_nb.erasure import NOTE
from cipher_nb.errors import CipherError
from cipher_nb.machine_memory import whole_memory
from cipher_nb.paths import user_cache
from cipher_nb.sandbox.checks import isolation
from cipher_nb.workspace import Workspace

PACKAGES = (
    "xllamacpp",
    "torch",
    "transformers",
    "peft",
    "bitsandbytes",
    "gguf",
    "papermill",
    "jupyterlab",
    "ipywidgets",
)
DISK_NEEDED_GB = 3.0
MEMORY_NEEDED_GB = 4.0
Level = Literal["good", "note", "bad"]


@dataclass(frozen=True)
class Finding:
    """One line of the examination; `mend` says what to do, "" where there is nothing to do."""

    name: str
    level: Level
    text: str
    mend: str = ""

    @property
    def mark(self) -> str:
        return {"good": "ok", "note": "--", "bad": "!!"}[self.level]


def examine(where: Path) -> list[Finding]:
    """Return what was found about this machine and the workspace at or above `where`."""
    findings = [*_software(), *_machine()]
    try:
        ws = Workspace.open(where)
    except CipherError as error:
        return [*findings, Finding("workspace", "bad", str(error), "cipher-nb init")]
    return [*findings, *_workspace(ws)]


def _software() -> Iterator[Finding]:
    yield Finding("python", "good", sys.version.split()[0])
    for name in PACKAGES:
        try:
            yield Finding(name, "good", version(name))
        except PackageNotFoundError:
            yield Finding(name, "bad", "not installed", f"pip install {name}")
    git = shutil.which("git")
    yield Finding("git", "good", git) if git else Finding("git", "bad", "not installed", "install git; ship needs it")


def _machine() -> Iterator[Finding]:
    yield Finding("processors", "good", f"{os.cpu_count()} cores, {_vector_units()}")
    yield _enough("memory", whole_memory() / 1e9, MEMORY_NEEDED_GB, "a night on the embedded model needs that much")
    cache = user_cache()
    cache.mkdir(parents=True, exist_ok=True)
    yield _enough("disk", shutil.disk_usage(cache).free / 1e9, DISK_NEEDED_GB, f"free some space under {cache}")
    yield _isolation()


def _isolation() -> Finding:
    kind = isolation.available()
    if kind == "bubblewrap":
        return Finding("isolation", "good", kind)
    mend = "apt-get install bubblewrap, or your system's package of it" if sys.platform == "linux" else ""
    if kind == "userns":
        return Finding("isolation", "good", "userns: user namespaces, set up without bubblewrap", mend)
    text = "none: checks of proposals see your files and the network, and the battery asks for no code"
    return Finding("isolation", "note", text, mend)


def _vector_units() -> str:
    try:
        flags = Path("/proc/cpuinfo").read_text(encoding="utf-8").split()
    except OSError:
        return "vector units unknown"
    found = [name for name in ("avx2", "avx512f", "avx512_bf16", "amx_bf16", "neon", "asimd") if name in flags]
    return " ".join(found) or "no vector units known"


def _enough(name: str, have: float, need: float, mend: str) -> Finding:
    if have >= need:
        return Finding(name, "good", f"{have:.1f} GB")
    return Finding(name, "bad", f"{have:.1f} GB, {need:.1f} GB are needed", mend)


def _workspace(ws: Workspace) -> Iterator[Finding]:
    yield Finding("workspace", "good", str(ws.paths.root))
    yield _model(ws)
    running = daemon.find(ws.paths.engine)
    yield (
        Finding("engine", "good", f"running at {running.url}") if running else Finding("engine", "note", "not running")
    )
    events = sum(1 for _ in ws.bus.tail().events)
    skipped = f", {ws.bus.skipped} unreadable lines passed over" if ws.bus.skipped else ""
    yield Finding("bus", "note" if skipped else "good", f"{events} events{skipped}")
    yield _production(ws)
    if (ws.paths.aide / NOTE).exists():
        yield Finding("purge", "bad", "one runs, or was cut short and left some of it", "ask for the same purge again")
    changelog = ws.changelog()
    if changelog and changelog.status == "pending":
        stale = changelog.stale(ws.clock())
        text = f"{changelog.ref} waits for your decision{' (stale)' * stale}"
        yield Finding("changelog", "note", text, f"cipher-nb review {changelog.id}")
    yield Finding("schedule", "note", f"to run nightly, add to your crontab: {_crontab(ws)}")


def _production(ws: Workspace) -> Finding:
    try:
        state = ws.registry.state()
        if state.production != BASE:
            ws.registry.verify(state.production)
    except CipherError as error:
        return Finding("production", "bad", str(error))
    if state.production in state.marked:
        text = f"{state.production}, {state.why_marked(state.production)}"
        return Finding("production", "bad", text, "cipher-nb rollback")
    return Finding("production", "good", state.production)


def _model(ws: Workspace) -> Finding:
    try:
        return Finding("model", "good", f"{ws.config.model.name} in {ws.model()}")
    except CipherError as error:
        return Finding("model", "bad", str(error), f"cipher-nb model fetch {ws.config.model.name}")


def _crontab(ws: Workspace) -> str:
    command = Path(sys.executable).with_name("cipher-nb")
    idle = f"{ws.config.night.when_idle_hours:g}h"
    return f"{ws.job().schedule} {command} night --workspace {ws.paths.root} --when-idle {idle}"
