"""Change which adapter answers, and prove it."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cipher_nb.engine.client import Client
from cipher_nb.errors import SwapError
from cipher_nb.model import Message

BASE = "base"


@dataclass(frozen=True)
class Canary:
    """A prompt whose answers were recorded when an adapter was staged: `answers` maps "base" and ids to texts."""

    messages: tuple[Message, ...]
    answers: Mapping[str, str]
    max_tokens: int = 32


@dataclass(frozen=True)
class SwapProof:
    """What was shown: which adapter the server says it applies, the time of the change, the canary's answer.

    `change_ms` covers setting the scales, reading them back and erasing the slots; the canary is not in it.
    `canary` is "as recorded", or "not recorded" where no answer is known for this adapter.
    """

    adapter: str
    change_ms: float
    slots_erased: int
    canary: str
    answer: str = ""


def serve(client: Client, adapter: str, *, canary: Canary | None = None) -> SwapProof:
    """Make `adapter` (an id, or "base") the one that answers, and prove it.

    Scales are set for every adapter the server holds and read back; slots are erased, since their caches were
    computed under the old adapter; the canary must answer as it was recorded. Requests in flight keep the adapter
    they started with. Raises SwapError when the server does not hold the adapter or does not do as it was told.
    """
    started = time.perf_counter()
    _set(client, adapter)
    erased = client.erase_slots()
    change_ms = (time.perf_counter() - started) * 1000
    verdict, answer = _ask(client, adapter, canary)
    return SwapProof(adapter=adapter, change_ms=change_ms, slots_erased=erased, canary=verdict, answer=answer)


def served(client: Client) -> str:
    """Return the id of the adapter that the server applies, or "base"; SwapError when it mixes several."""
    applied = [adapter.name for adapter in client.adapters() if adapter.scale != 0.0]
    if len(applied) > 1:
        raise SwapError(f"{client.url} applies several adapters at once: {', '.join(applied)}; run: cipher-nb rollback")
    return applied[0] if applied else BASE


def record(client: Client, adapters: Sequence[str], prompts: Sequence[Sequence[Message]], *, max_tokens: int) -> Canary:
    """Return the first prompt that all `adapters` answer differently, else the last, with its recorded answers.

    Leaves the server on the last of `adapters`. Costs one answer per adapter and prompt tried.
    """
    canary = None
    for messages in prompts:
        answers = {}
        for adapter in adapters:
            serve(client, adapter)
            answers[adapter] = client.chat(messages, max_tokens=max_tokens).text
        canary = Canary(messages=tuple(messages), answers=answers, max_tokens=max_tokens)
        if len(set(answers.values())) == len(adapters):
            break
    if canary is None:
        raise SwapError("no prompt to record a canary with; give at least one")
    return canary


def _set(client: Client, adapter: str) -> None:
    loaded = client.adapters()
    names = [each.name for each in loaded]
    if adapter != BASE and adapter not in names:
        raise SwapError(f"{client.url} does not hold adapter {adapter} (it holds: {', '.join(names) or 'none'})")
    scales = {each.number: 1.0 if each.name == adapter else 0.0 for each in loaded}
    if scales:
        client.set_scales(scales)
    found = served(client)
    if found != adapter:
        raise SwapError(
            f"{client.url} applies {found} after it was told to apply {adapter}; see: cipher-nb engine logs"
        )


def _ask(client: Client, adapter: str, canary: Canary | None) -> tuple[str, str]:
    if canary is None or adapter not in canary.answers:
        return "not recorded", ""
    answer = client.chat(canary.messages, max_tokens=canary.max_tokens).text
    if answer != canary.answers[adapter]:
        raise SwapError(
            f"{client.url} with adapter {adapter} answers the canary with {answer!r}, "
            f"recorded was {canary.answers[adapter]!r}; it does not serve what was staged"
        )
    return "as recorded", answer
