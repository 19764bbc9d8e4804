"""Adapters that saw what goes: marked before it goes; what they learned cannot be taken out of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from cipher_nb.adapters.registry import Registry
from cipher_nb.adapters.state import Mark
from cipher_nb.erasure.doomed import Doomed
from cipher_nb.errors import CipherError

PURGED = "purged"


def mark(registry: Registry, doomed: Doomed, *, at: str) -> dict[str, Mark]:
    """Mark every adapter that was trained on it, or may have been by an unreadable manifest; return the marks."""
    found = {name: _mark(registry, name, doomed, at) for name in registry.ids()}
    marks = {name: made for name, made in found.items() if made}
    if marks:
        registry.mark(marks)
    return marks


def forget(registry: Registry, doomed: Doomed, adapters: Iterable[str]) -> None:
    """Take out of the manifests which pairs, tasks and events went: that there were so many stays.

    A pair's id is a hash of its words and an event's tells when, so neither outlives what it names; and a purge that is
    asked for again counts nothing twice.
    """
    for name in adapters:
        try:
            pairs = _pairs(registry, name)
        except CipherError:
            continue
        registry.set_pairs(
            name, [{"source": pair.get("source"), PURGED: True} if doomed.made(pair) else pair for pair in pairs]
        )


def _mark(registry: Registry, adapter: str, doomed: Doomed, at: str) -> Mark | None:
    try:
        pairs = _pairs(registry, adapter)
    except CipherError:
        return Mark(at, None)
    gone = sum(doomed.made(pair) for pair in pairs)
    return Mark(at, gone + sum(PURGED in pair for pair in pairs)) if gone else None


def _pairs(registry: Registry, adapter: str) -> list[dict[str, Any]]:
    pairs = registry.manifest(adapter).get("pairs", [])
    if not isinstance(pairs, list) or not all(isinstance(pair, dict) for pair in pairs):
        raise CipherError(f"the manifest of adapter {adapter} names no pairs but {pairs!r:.80}")
    return pairs
