"""The operator's decisions. Apply, skip and rollback all go through `decide`, whoever calls.

Order of an apply: audit "asked", swap and proof, registry, audit "done". A crash in between leaves the registry on the
old adapter; the next connection to the engine puts the engine back on what the registry says.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol

import orjson

from cipher_nb.adapters import changelog as changelogs
from cipher_nb.adapters.registry import Registry
from cipher_nb.engine import swap
from cipher_nb.engine.client import Client
from cipher_nb.engine.swap import SwapProof
from cipher_nb.errors import DecisionError, EngineError, SwapError
from cipher_nb.files import locked
from cipher_nb.jsonl import append_line
from cipher_nb.paths import Paths
from cipher_nb.records import Clock, format_ts, utc_now

Action = Literal["apply", "skip", "rollback"]


class Recorder(Protocol):
    """What a decision needs of the bus."""

    def append(self, type: str, /, **fields: object) -> bool: ...


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
        with locked(self.paths.audit.with_name("decision")):
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
        if changelog.verdict == "INCONCLUSIVE" and not confirmed:
            return Decision(
                "apply", "confirm", adapter, "the gate could not prove this adapter better; apply it anyway?"
            )
        before = self.registry.state().production
        self._audit("apply", "asked", adapter, by, changelog.ref, confirmed=confirmed)
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
        self._audit("rollback", "asked", state.previous, by)
        decision = self._swap("rollback", state.previous, state.production)
        if decision.status == "done":
            self.registry.restore_previous()
            self._mark_rolled_back(state.production)
            self.bus.append("phase", **{"from": state.production, "to": state.previous, "engine": "llama.cpp"})
        self._audit("rollback", decision.status, state.previous, by)
        return decision

    def _swap(self, action: Action, adapter: str, before: str) -> Decision:
        canary = self.registry.canary(adapter if action == "apply" else before)
        with self.connect() as client:
            try:
                proof = swap.serve(client, adapter, canary=canary)
            except SwapError as error:
                return self._revert(client, action, adapter, before, error)
        message = f"{adapter} answers now; changed in {proof.change_ms:.1f} ms; canary {proof.canary}"
        return Decision(action, "done", adapter, message, proof)

    def _revert(self, client: Client, action: Action, adapter: str, before: str, error: SwapError) -> Decision:
        self.bus.append("error", source="swap", message=str(error))
        try:
            swap.serve(client, before)
        except EngineError as worse:
            self.bus.append("error", source="swap", message=str(worse))
            raise
        return Decision(action, "reverted", adapter, f"{error}; {before} answers again")

    def _mark_rolled_back(self, adapter: str) -> None:
        changelog = changelogs.latest(self.paths.changelog)
        if changelog and changelog.adapter == adapter:
            self._answer(changelog, "rolled back")

    def _answer(self, changelog: changelogs.Changelog, status: str) -> None:
        changelogs.answer(self.paths.changelog, changelog, status)

    def _audit(
        self, action: str, status: str, adapter: str, by: str, ref: str = "", *, confirmed: bool = False
    ) -> None:
        row: dict[str, object] = {"ts": format_ts(self.clock()), "action": action, "status": status}
        row |= {"adapter": adapter, "by": by, "changelog": ref, "confirmed_twice": confirmed}
        append_line(self.paths.audit, orjson.dumps(row), durable=True)
