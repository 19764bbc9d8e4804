"""Where everything lies under a workspace's `.aide/`, and in the user's cache."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import platformdirs


@dataclass(frozen=True)
class Paths:
    """The files of one workspace. `root` is the folder that holds `.aide/`."""

    root: Path

    @property
    def aide(self) -> Path:
        return self.root / ".aide"

    @property
    def config(self) -> Path:
        return self.aide / "cipher.toml"

    @property
    def bus(self) -> Path:
        return self.aide / "cipher-state.jsonl"

    @property
    def transcripts(self) -> Path:
        return self.aide / "transcripts.jsonl"

    @property
    def audit(self) -> Path:
        return self.aide / "audit.jsonl"

    @property
    def sandboxes(self) -> Path:
        return self.aide / "sandboxes"

    @property
    def tasks(self) -> Path:
        return self.aide / "tasks"

    @property
    def journal(self) -> Path:
        return self.aide / "journal"

    @property
    def undo(self) -> Path:
        return self.aide / "undo"

    @property
    def pairs(self) -> Path:
        return self.aide / "data" / "pairs.jsonl"

    @property
    def replay(self) -> Path:
        return self.aide / "data" / "replay"

    @property
    def adapters(self) -> Path:
        return self.aide / "adapters"

    @property
    def battery(self) -> Path:
        return self.aide / "battery"

    @property
    def battery_results(self) -> Path:
        return self.battery / "results"

    @property
    def nights(self) -> Path:
        return self.aide / "artifacts" / "nights"

    @property
    def trials(self) -> Path:
        return self.aide / "artifacts" / "trials"

    @property
    def changelog(self) -> Path:
        return self.aide / "changelog.json"

    @property
    def engine(self) -> Path:
        return self.aide / "engine.json"

    @property
    def engine_log(self) -> Path:
        return self.aide / "engine.log"

    @property
    def slots(self) -> Path:
        return self.aide / "slots"

    @property
    def night_lock(self) -> Path:
        return self.aide / "night.lock"


def find_workspace(start: Path) -> Path | None:
    """Return the nearest folder at or above `start` that holds an `.aide/`, or None."""
    start = start.resolve()
    return next((folder for folder in (start, *start.parents) if (folder / ".aide").is_dir()), None)


def user_cache() -> Path:
    """Return where fetched models and dequantised checkpoints are kept, shared by all workspaces."""
    return platformdirs.user_cache_path("cipher-nb")
