"""The registry: which adapter is production, which is staged, which were archived and why.

An adapter lies in `.aide/adapters/<id>/` as `adapter.gguf` and `manifest.json` and is never overwritten.
`registry.json` is replaced whole, so every reader sees one state or the next. "base" stands for no adapter.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from cipher_nb.engine.swap import BASE, Canary
from cipher_nb.errors import DecisionError, NotFoundError
from cipher_nb.files import locked, read_json, write_json


@dataclass(frozen=True)
class State:
    """`previous` is what rollback returns to, `archived` maps ids to reasons, `held` lists what once was production."""

    production: str = BASE
    previous: str = BASE
    staged: str = ""
    archived: Mapping[str, str] = field(default_factory=dict)
    held: tuple[str, ...] = ()


class Registry:
    """The adapters under one folder. Every change is one atomic write under a lock."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._path = folder / "registry.json"

    def state(self) -> State:
        """Return the current state; a workspace without adapters serves the base."""
        try:
            row = read_json(self._path)
        except FileNotFoundError:
            return State()
        return State(**{**row, "held": tuple(row.get("held", ()))})

    def add(self, adapter: str, gguf: Path, *, manifest: Mapping[str, Any]) -> Path:
        """Take an adapter's file in under its id and return where it lies; one that is there already is kept."""
        home = self.folder / adapter
        if not (home / "manifest.json").exists():
            home.mkdir(parents=True, exist_ok=True)
            scratch = home / ".adapter.gguf.tmp"
            shutil.copyfile(gguf, scratch)
            scratch.replace(home / "adapter.gguf")
            write_json(home / "manifest.json", dict(manifest))
        return home / "adapter.gguf"

    def path(self, adapter: str) -> Path:
        """Return the GGUF file of `adapter`; NotFoundError when there is none."""
        path = self.folder / adapter / "adapter.gguf"
        if adapter in ("", BASE) or not path.is_file():
            raise NotFoundError(f"adapter {adapter!r} does not exist; see: cipher-nb adapters")
        return path

    def manifest(self, adapter: str) -> dict[str, Any]:
        """Return what `adapter` was made of."""
        self.path(adapter)
        return dict(read_json(self.folder / adapter / "manifest.json"))

    def set_canary(self, adapter: str, canary: Canary) -> None:
        """Record how `adapter` answers, for the proof of a later swap."""
        self.path(adapter)
        write_json(self.folder / adapter / "canary.json", asdict(canary))

    def canary(self, adapter: str) -> Canary | None:
        """Return the canary recorded for `adapter`, or None."""
        try:
            row = read_json(self.folder / adapter / "canary.json")
        except FileNotFoundError:
            return None
        return Canary(messages=tuple(row["messages"]), answers=row["answers"], max_tokens=row["max_tokens"])

    def resolve(self, name: str) -> str:
        """Return the id behind "base", "production", "staged" or an id; NotFoundError when there is none."""
        state = self.state()
        adapter = {BASE: BASE, "production": state.production, "staged": state.staged}.get(name, name)
        if adapter != BASE:
            self.path(adapter)
        return adapter

    def needed(self) -> list[Path]:
        """Return the files a server must hold so that apply and rollback are both a swap."""
        state = self.state()
        ids = dict.fromkeys((state.production, state.previous, state.staged))
        return [self.path(adapter) for adapter in ids if adapter not in ("", BASE)]

    def stage(self, adapter: str) -> State:
        """Put `adapter` forward for the operator's decision; one staged before is archived as superseded."""
        self.path(adapter)

        def change(state: State) -> State:
            archived = {each: why for each, why in state.archived.items() if each != adapter}
            if state.staged not in ("", adapter):
                archived[state.staged] = f"superseded by {adapter}"
            return replace(state, staged=adapter, archived=archived)

        return self._change(change)

    def archive(self, adapter: str, *, reason: str) -> State:
        """Set `adapter` aside with the reason; its files stay."""

        def change(state: State) -> State:
            staged = "" if state.staged == adapter else state.staged
            return replace(state, staged=staged, archived={**state.archived, adapter: reason})

        return self._change(change)

    def promote(self, adapter: str) -> State:
        """Make the staged `adapter` production; what was production is kept for rollback."""

        def change(state: State) -> State:
            if state.staged != adapter:
                raise DecisionError(f"adapter {adapter} is not staged (staged: {state.staged or 'none'})")
            held = tuple(dict.fromkeys((*state.held, state.production, adapter)))
            return replace(state, production=adapter, previous=state.production, staged="", held=held)

        return self._change(change)

    def restore_previous(self) -> State:
        """Make what was production before production again; what was served is archived as rolled back."""

        def change(state: State) -> State:
            archived = {each: why for each, why in state.archived.items() if each != state.previous}
            archived[state.production] = f"rolled back to {state.previous}"
            return replace(state, production=state.previous, previous=BASE, archived=archived)

        return self._change(change)

    def _change(self, change: Callable[[State], State]) -> State:
        self.folder.mkdir(parents=True, exist_ok=True)
        with locked(self._path):
            state = change(self.state())
            write_json(self._path, asdict(state))
        return state
