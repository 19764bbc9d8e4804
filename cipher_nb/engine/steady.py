"""Answers that depend on model, adapter and question alone: each question alone, on a server with one slot.

Where several requests share a server, the shapes of its batches follow their timing, and what a slot still holds
follows their order; either decides near-ties between tokens. Here every question meets the same state: its preface
(the messages before it), computed once, saved, and put back before each question that stands behind it. Speed comes
from several such servers side by side: they share the model's file in memory, and none waits for another.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from cipher_nb.config import EngineSettings
from cipher_nb.engine import swap
from cipher_nb.engine.client import Client
from cipher_nb.engine.server import ServeSpec, serving
from cipher_nb.engine.swap import SwapProof
from cipher_nb.machine_memory import free_memory
from cipher_nb.model import Message, OnText, Reply

STATE_FILE = "preface.bin"
FOLDER = "steady-"


class Steady:
    """A `Model` on a server with one slot and a save folder of its own."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self._saved: str | None = None
        self._before: Sequence[Message] | None = None
        self._lock = threading.Lock()

    def serve(self, adapter: str) -> SwapProof:
        """Make `adapter` the one that answers; see `swap.serve`."""
        with self._lock:
            self._saved = None
            return swap.serve(self.client, adapter)

    def chat(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int = 256,
        temperature: float = 0.0,
        seed: int = 0,
        schema: Mapping[str, Any] | None = None,
        on_text: OnText | None = None,
    ) -> Reply:
        with self._lock:
            self._settle(messages)
            return self.client.chat(
                messages, max_tokens=max_tokens, temperature=temperature, seed=seed, schema=schema, on_text=on_text
            )

    def next_token_logprobs(self, messages: Sequence[Message], *, top: int = 64) -> Mapping[str, float]:
        with self._lock:
            self._settle(messages)
            return self.client.next_token_logprobs(messages, top=top)

    def knows(self, messages: Sequence[Message]) -> bool:
        """Tell whether the last question stood behind the same messages as this one."""
        return self._before == messages[:-1]

    def _settle(self, messages: Sequence[Message]) -> None:
        """Bring the slot into the state that every question behind the same messages meets."""
        self._before = messages[:-1]
        preface = self.client.templates.preface(messages)
        if not preface:
            self.client.erase_slots()
            return
        if preface != self._saved:
            self._saved = None
            self.client.erase_slots()
            self.client.complete(preface, max_tokens=0)
            self.client.save_slot(STATE_FILE)
            self._saved = preface
        self.client.restore_slot(STATE_FILE)


class SteadyServers:
    """A `Model` that hands each question to a free one of several `Steady` servers, if it can to one that knows how it
    begins.

    Ask it with `workers` requests at a time. `client` is that of the first server; who changes the adapter there calls
    `serve` before the next question.
    """

    def __init__(self, members: Sequence[Steady]) -> None:
        self.members = tuple(members)
        self._free = list(members)
        self._freed = threading.Condition()

    @property
    def workers(self) -> int:
        return len(self.members)

    @property
    def client(self) -> Client:
        return self.members[0].client

    def serve(self, adapter: str) -> SwapProof:
        """Make `adapter` the one that answers on every server, and return the first one's proof; see `swap.serve`."""
        proofs = [member.serve(adapter) for member in self.members]
        return proofs[0]

    def chat(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int = 256,
        temperature: float = 0.0,
        seed: int = 0,
        schema: Mapping[str, Any] | None = None,
        on_text: OnText | None = None,
    ) -> Reply:
        with self._one(messages) as member:
            return member.chat(
                messages, max_tokens=max_tokens, temperature=temperature, seed=seed, schema=schema, on_text=on_text
            )

    def next_token_logprobs(self, messages: Sequence[Message], *, top: int = 64) -> Mapping[str, float]:
        with self._one(messages) as member:
            return member.next_token_logprobs(messages, top=top)

    @contextmanager
    def _one(self, messages: Sequence[Message]) -> Iterator[Steady]:
        with self._freed:
            self._freed.wait_for(lambda: self._free)
            member = min(self._free, key=lambda each: not each.knows(messages))
            self._free.remove(member)
        try:
            yield member
        finally:
            with self._freed:
                self._free.append(member)
                self._freed.notify()


@contextmanager
def steady_serving(spec: ServeSpec) -> Iterator[SteadyServers]:
    """Run servers of one slot each for the length of a `with` block: as many as `spec` has slots and there is room for.

    They share the threads of `spec`; each has as much context as one slot of it. Which of them answers, and how many
    there are, changes no answer. Raises EngineStartError as `serving` does.
    """
    count = _server_count(spec)
    with ExitStack() as stack:
        spec.slot_folder.mkdir(parents=True, exist_ok=True)
        _remove_left_behind(spec.slot_folder)
        own = tempfile.TemporaryDirectory(prefix=f"{FOLDER}{os.getpid()}-", dir=spec.slot_folder)
        folder = stack.enter_context(own)
        specs = (_member_spec(spec, number, count=count, folder=Path(folder)) for number in range(count))
        yield SteadyServers([Steady(stack.enter_context(serving(each))) for each in specs])


def steady_settings(settings: EngineSettings) -> dict[str, Any]:
    """Return what of the engine's settings decides an answer of `steady_serving`, for a fingerprint."""
    return {"asked": "alone", "context_tokens": _context_tokens(settings)}


def _server_count(spec: ServeSpec) -> int:
    """Return how many servers to run: one a slot, but at least one thread and, beside the first, room for the model."""
    in_memory = free_memory() // (2 * spec.model.stat().st_size)
    return max(1, min(spec.settings.slots, _threads(spec.settings), in_memory))


def _remove_left_behind(slot_folder: Path) -> None:
    """Remove the folders of processes that were killed."""
    import psutil

    for folder in slot_folder.glob(f"{FOLDER}*-*"):
        if not psutil.pid_exists(int(folder.name.removeprefix(FOLDER).split("-")[0])):
            shutil.rmtree(folder, ignore_errors=True)


def _member_spec(spec: ServeSpec, number: int, *, count: int, folder: Path) -> ServeSpec:
    settings = replace(
        spec.settings,
        slots=1,
        threads=max(1, _threads(spec.settings) // count),
        context_tokens=_context_tokens(spec.settings),
    )
    log = spec.log if number == 0 else spec.log.with_stem(f"{spec.log.stem}-{number + 1}")
    return replace(spec, settings=settings, slot_folder=folder / str(number), log=log)


def _threads(settings: EngineSettings) -> int:
    return settings.threads or os.cpu_count() or 1


def _context_tokens(settings: EngineSettings) -> int:
    return settings.context_tokens // max(1, settings.slots)
