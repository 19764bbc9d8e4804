"""The registry: which adapter is production, which is staged, which were archived and why, which saw what was purged.

An adapter lies in `.aide/adapters/<id>/` as `adapter.gguf` and `manifest.json`. The folder is made beside and moved in
whole, and the file is never overwritten; its SHA-256 stands in the manifest. `registry.json` is replaced whole, so
every reader sees one state or the next. "base" stands for no adapter.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from cipher_nb.adapters.state import Mark, State
from cipher_nb.engine.swap import BASE, Canary
from cipher_nb.errors import CipherError, DecisionError, NotFoundError, RegistryError
from cipher_nb.files import locked, read_json, sha256_of, sync_folder, write_json
from cipher_nb.records import Clock, format_ts, utc_now

ANEW = "put a copy of it back, or move it away: the base is served then, and the next night stages anew"
FILES = ("adapter.gguf", "manifest.json")
SHOWN_DIGITS = 16


class Registry:
    """The adapters under one folder. Every change is one atomic write under a lock."""

    def __init__(self, folder: Path, *, clock: Clock = utc_now) -> None:
        self.folder = folder
        self._clock = clock
        self._path = folder / "registry.json"

    def state(self) -> State:
        """Return the current state; a workspace without adapters serves the base. RegistryError for a damaged file."""
        return self._read()[0]

    def ids(self) -> list[str]:
        """Return the ids of all adapters that have files here, whole or not."""
        files = [path for name in FILES for path in self.folder.glob(f"[!.]*/{name}")]
        return sorted({file.parent.name for file in files})

    def add(self, adapter: str, gguf: Path, *, manifest: Mapping[str, Any]) -> Path:
        """Take an adapter in under its id, whole or not at all, and return where its file lies.

        What is there already is kept: with the same bytes that is all, other bytes are a RegistryError that names both
        hashes. So is a disk that takes no more; nothing is left behind then.
        """
        digest = sha256_of(gguf)
        self.folder.mkdir(parents=True, exist_ok=True)
        with locked(self.folder / adapter):
            if self.has(adapter):
                self._require(adapter, digest, of=gguf)
            else:
                self._take_in(adapter, gguf, {**manifest, "sha256": digest, "made": format_ts(self._clock())})
        return self.path(adapter)

    def has(self, adapter: str) -> bool:
        """Tell whether the files of `adapter` are here."""
        home = self.folder / adapter
        return adapter not in ("", BASE) and all((home / name).is_file() for name in FILES)

    def path(self, adapter: str) -> Path:
        """Return the GGUF file of `adapter`; NotFoundError when there is none."""
        if not self.has(adapter):
            raise NotFoundError(f"adapter {adapter!r} does not exist; see: cipher-nb adapters")
        return self.folder / adapter / "adapter.gguf"

    def verify(self, adapter: str) -> None:
        """Read the file of `adapter` and hold it against its manifest; RegistryError when it is another."""
        path, recorded = self.path(adapter), self.manifest(adapter).get("sha256")
        if recorded is not None:
            self._require(adapter, str(recorded), of=path.with_name("manifest.json"))

    def manifest(self, adapter: str) -> dict[str, Any]:
        """Return what `adapter` was made of; NotFoundError when that is not on record, RegistryError when broken."""
        path = self.folder / adapter / "manifest.json"
        try:
            found = read_json(path)
        except FileNotFoundError as error:
            raise NotFoundError(f"adapter {adapter!r} has no manifest ({path}); see: cipher-nb adapters") from error
        except CipherError as error:
            raise RegistryError(str(error)) from error
        if not isinstance(found, dict):
            raise RegistryError(f"{path} is no manifest but {found!r:.80}; put a copy of it back")
        return found

    def set_pairs(self, adapter: str, pairs: Sequence[Mapping[str, Any]]) -> None:
        """Rewrite which pairs the manifest of `adapter` names."""
        home = self.folder / adapter
        write_json(home / "manifest.json", {**self.manifest(adapter), "pairs": [dict(pair) for pair in pairs]})

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

    def ways_back(self) -> tuple[str, ...]:
        """Return where rollback may go, best first; see `State.ways_back`. What lost its files is left out."""
        return tuple(adapter for adapter in self.state().ways_back() if adapter == BASE or self.has(adapter))

    def needed(self) -> list[Path]:
        """Return the files a server must hold so that apply and rollback are both a swap.

        NotFoundError when that of production is gone; the others are left out then.
        """
        state = self.state()
        others = [adapter for adapter in (*self.ways_back()[:1], state.staged) if self.has(adapter)]
        ids = dict.fromkeys((state.production, *others))
        return [self.path(adapter) for adapter in ids if adapter != BASE]

    def stage(self, adapter: str) -> State:
        """Put `adapter` forward for the operator's decision; one staged before is archived as superseded."""
        self.verify(adapter)

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

    def restore(self, adapter: str) -> State:
        """Make `adapter`, which was production before, production again; what was served is archived as rolled back."""

        def change(state: State) -> State:
            archived = {**state.archived, state.production: f"rolled back to {adapter}"}
            archived.pop(adapter, None)
            restored = replace(state, production=adapter, previous="", archived=archived)
            return replace(restored, previous=next(iter(restored.ways_back()), BASE))

        return self._change(change)

    def mark(self, marks: Mapping[str, Mark]) -> State:
        """Put it on record that these adapters saw what is purged."""
        return self._change(lambda state: replace(state, marked={**state.marked, **marks}))

    def _read(self) -> tuple[State, dict[str, Any]]:
        """Return the state, and the row it stands in with what a newer version may have added."""
        try:
            row = read_json(self._path)
            return State.from_json(row), row
        except FileNotFoundError:
            return State(), {}
        except CipherError as error:
            raise RegistryError(f"{self._path} is not valid JSON; {ANEW}") from error
        except ValueError as error:
            raise RegistryError(f"{self._path} is no registry of adapters ({error}); {ANEW}") from error

    def _change(self, change: Callable[[State], State]) -> State:
        self.folder.mkdir(parents=True, exist_ok=True)
        with locked(self._path):
            state, row = self._read()
            state = change(state)
            write_json(self._path, {**row, **asdict(state)})
        return state

    def _require(self, adapter: str, digest: str, *, of: Path) -> None:
        path = self.path(adapter)
        found = sha256_of(path)
        if found != digest:
            raise RegistryError(
                f"adapter {adapter}: {path} has sha256 {found[:SHOWN_DIGITS]}, by {of} it is {digest[:SHOWN_DIGITS]}; "
                f"move {path.parent} away and let a night make it again"
            )

    def _take_in(self, adapter: str, gguf: Path, manifest: Mapping[str, Any]) -> None:
        home, scratch = self.folder / adapter, self.folder / f".{adapter}.tmp"
        try:
            _remove(scratch)
            scratch.mkdir()
            _copy_durably(gguf, scratch / "adapter.gguf")
            write_json(scratch / "manifest.json", dict(manifest))
            _remove(home)  # it lacks one of its files
            scratch.rename(home)
            sync_folder(self.folder)
        except OSError as error:
            shutil.rmtree(scratch, ignore_errors=True)
            raise RegistryError(
                f"adapter {adapter} ({gguf.stat().st_size} bytes) could not be written to {home} "
                f"({error.strerror or error}); free some space there and run: cipher-nb night"
            ) from error


def _remove(folder: Path) -> None:
    if folder.exists():
        shutil.rmtree(folder)


def _copy_durably(source: Path, target: Path) -> None:
    with source.open("rb") as old, target.open("xb") as new:
        shutil.copyfileobj(old, new, 1024 * 1024)
        new.flush()
        os.fsync(new.fileno())
