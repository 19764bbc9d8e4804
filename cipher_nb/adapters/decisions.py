"""The operator's decisions. Apply, skip and rollback all go through `decide`, whoever calls.

Order of an apply: audit "asked", swap and proof, registry, audit "done". A crash in between leaves the registry on the
old adapter; the next connection to the engine puts the engine back on what the registry says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Literal

import orjson

from cipher_nb.adapters import changelog as changelogs
from cipher_nb.adapters.registry import Registry
from cipher_nb.adapters.serving import Recorder, decision_lock
from cipher_nb.adapters.state import State
from cipher_nb.engine import swap
from cipher_nb.engine.client import Client
from cipher_nb.engine.swap import Canary, SwapProof
from cipher_nb.errors import BrokenProductionError, CipherError, DecisionError, EngineError, SwapError
from cipher_nb.jsonl import append_line
from cipher_nb.paths import Paths
from cipher_nb.records import Clock, format_ts, utc_now

REVERT_PATIENCE_S = 5.0

Action = Literal["apply", "skip", "rollback"]


@dataclass(frozen=True)
class Decision:
    """What came of a decision.

    `status`: "done"; "already" (decided before, nothing changed); "confirm" (the gate was INCONCLUSIVE: decide again
    with `confirmed`); "reverted" (the proof failed and the engine is back on what it served before).
    """

    action: Action
    status: Literal["done", "already", "confirm", "reverted"]
    adapter: str
    message: str
    proof: SwapProof | None = None


@dataclass(frozen=True)
class Desk:
    """Where decisions are made: the workspace's files, its registry and bus, and how to reach the served engine."""

    paths: Paths
    registry: Registry
    bus: Recorder
    connect: Callable[[], Client]
    clock: Clock = utc_now

    def decide(self, action: Action, ref: str = "", *, confirmed: bool = False, by: str = "cli") -> Decision:
        """Carry out the operator's decision and prove it.

        `ref` is the changelog's ID@HASH (not for rollback). Deciding the same twice changes nothing.
        Raises DecisionError when `ref` is not the changelog on record, EngineError when the engine cannot be asked.
        """
        self.paths.aide.mkdir(parents=True, exist_ok=True)
        with decision_lock(self.paths):
            if action == "rollback":
                return self._rollback(by)
            changelog = changelogs.find(self.paths.changelog, ref)
            if action == "apply":
                return self._apply(changelog, confirmed=confirmed, by=by)
            return self._skip(changelog, by)

    def _apply(self, changelog: changelogs.Changelog, *, confirmed: bool, by: str) -> Decision:
        adapter = changelog.adapter
        if self.registry.state().production == adapter:
            self._answer(changelog, "applied")
            return Decision("apply", "already", adapter, f"adapter {adapter} was applied before; nothing changed")
        if changelog.status != "pending":
            raise DecisionError(
                f"changelog {changelog.ref} was {changelog.status}; the next night may stage an adapter"
            )
        marked = self.registry.state().why_marked(adapter)
        if marked:
            raise DecisionError(f"adapter {adapter} was {marked}; set it aside with: cipher-nb skip {changelog.ref}")
        if changelog.verdict == "INCONCLUSIVE" and not confirmed:
            return Decision(
                "apply", "confirm", adapter, "the gate could not prove this adapter better; apply it anyway?"
            )
        before = self.registry.state().production
        with self._asked("apply", adapter, by, changelog.ref, confirmed=confirmed):
            decision = self._swap("apply", adapter, before)
        if decision.status == "done":
            self.registry.promote(adapter)
            self._answer(changelog, "applied")
            self.bus.append("phase", **{"from": before, "to": adapter, "engine": "llama.cpp"})
        self._audit("apply", decision.status, adapter, by, changelog.ref, confirmed=confirmed)
        return decision

    def _skip(self, changelog: changelogs.Changelog, by: str) -> Decision:
        adapter = changelog.adapter
        if changelog.status == "applied":
            raise DecisionError(f"changelog {changelog.ref} was applied; take it back with: cipher-nb rollback")
        if changelog.status != "pending":
            return Decision(
                "skip", "already", adapter, f"adapter {adapter} was {changelog.status} before; nothing changed"
            )
        self.registry.archive(adapter, reason="skipped by the operator")
        self._answer(changelog, "skipped")
        self._audit("skip", "done", adapter, by, changelog.ref)
        return Decision("skip", "done", adapter, f"kept {self.registry.state().production}; archived {adapter}")

    def _rollback(self, by: str) -> Decision:
        state = self.registry.state()
        if state.production == swap.BASE:
            return Decision("rollback", "already", swap.BASE, "the base is served; there is nothing to roll back")
        target = self._way_back()
        with self._asked("rollback", target, by):
            try:
                decision = self._swap("rollback", target, state.production)
            except BrokenProductionError:
                decision = self._start_on(target, instead_of=state.production)
        if decision.status == "done":
            if self.registry.state().production != target:
                self.registry.restore(target)
            self._mark_rolled_back(state.production)
            self.bus.append("phase", **{"from": state.production, "to": target, "engine": "llama.cpp"})
        self._audit("rollback", decision.status, target, by)
        return replace(decision, message="; ".join((decision.message, *_reasons(state, target))))

    def _way_back(self) -> str:
        """Return the best of the registry's ways back that the engine holds; the base is always there."""
        try:
            with self.connect() as client:
                loaded = {each.name for each in client.adapters()}
        except BrokenProductionError:
            return self.registry.ways_back()[0]
        return next(adapter for adapter in self.registry.ways_back() if adapter == swap.BASE or adapter in loaded)

    def _start_on(self, target: str, *, instead_of: str) -> Decision:
        """Roll back where production cannot be loaded: nothing is served, so the registry goes first."""
        self.registry.restore(target)
        with self.connect() as client:
            proof = swap.serve(client, target, canary=self.registry.canary(instead_of))
        return Decision("rollback", "done", target, _said(proof), proof)

    def _swap(self, action: Action, adapter: str, before: str) -> Decision:
        canary = self.registry.canary(adapter if action == "apply" else before)
        with self.connect() as client:
            try:
                proof = swap.serve(client, adapter, canary=canary)
            except EngineError as error:
                return self._revert(client, action, adapter, before, error, canary=canary)
        return Decision(action, "done", adapter, _said(proof), proof)

    def _revert(
        self, client: Client, action: Action, adapter: str, before: str, error: EngineError, *, canary: Canary | None
    ) -> Decision:
        """Put the engine back on `before`, prove it, and say what could not be proved; within 10 s where it answers."""
        self.bus.append("error", source="swap", message=str(error))
        try:
            swap.change(client, before)
        except EngineError as worse:
            raise SwapError(
                f"{error}; then {worse}; not known is whether {adapter} or {before} is applied; the registry is on "
                f"{before}, and the next command brings the engine back to it; if it hangs, run: cipher-nb engine stop"
            ) from worse
        try:
            verdict, _ = swap.ask(client, before, canary, patience_s=REVERT_PATIENCE_S)
        except EngineError as worse:
            self.bus.append("error", source="swap", message=str(worse))
            verdict = f"not as recorded ({worse})"
        return Decision(action, "reverted", adapter, f"{error}; {before} is applied again, its canary {verdict}")

    def _mark_rolled_back(self, adapter: str) -> None:
        changelog = changelogs.latest(self.paths.changelog)
        if changelog and changelog.adapter == adapter:
            self._answer(changelog, "rolled back")

    def _answer(self, changelog: changelogs.Changelog, status: str) -> None:
        changelogs.answer(self.paths.changelog, changelog, status)

    @contextmanager
    def _asked(self, action: str, adapter: str, by: str, ref: str = "", *, confirmed: bool = False) -> Iterator[None]:
        """Put on record that it was asked for and, where no answer could be had, that it failed and why."""
        self._audit(action, "asked", adapter, by, ref, confirmed=confirmed)
        try:
            yield
        except CipherError as error:
            self.bus.append("error", source="swap", message=str(error))
            self._audit(action, "failed", adapter, by, ref, confirmed=confirmed)
            raise

    def _audit(
        self, action: str, status: str, adapter: str, by: str, ref: str = "", *, confirmed: bool = False
    ) -> None:
        row: dict[str, object] = {"ts": format_ts(self.clock()), "action": action, "status": status}
        row |= {"adapter": adapter, "by": by, "changelog": ref, "confirmed_twice": confirmed}
        append_line(self.paths.audit, orjson.dumps(row), durable=True)


def _reasons(state: State, target: str) -> list[str]:
    """Return what there is to say of a way back other than plainly to the one before."""
    said = [
        f"{adapter} was {state.why_marked(adapter)}"
        for adapter in (state.production, target)
        if adapter in state.marked
    ]
    if target != state.previous:
        why = state.why_marked(state.previous) or state.archived.get(state.previous) or "not loaded in the engine"
        said.append(f"{state.previous} was passed over: {why}")
    return said


def _said(proof: SwapProof) -> str:
    said = [f"{proof.adapter} answers now; changed in {proof.change_ms:.1f} ms; canary {proof.canary}"]
    if proof.in_flight:
        said.append(f"{proof.in_flight} requests in flight finished on what answered before")
    return "; ".join((*said, *(f"not proved: {each}" for each in proof.unproved)))
