"""Change which adapter answers, and prove it.

What llama.cpp's server does with requests that meet a change: one that has a slot keeps the scales it began with to
its end, one that waits for a slot takes those of the moment it gets one, and neither is told. Requests under different
scales never share a batch, so a new one may wait until the old ones are done. A client's questions therefore name the
scales they are answered with (`Client.pin`): who asked before a change is answered as before it, whenever that is.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from cipher_nb.engine.client import Client, LoadedAdapter
from cipher_nb.errors import EngineError, EngineTimeoutError, NotOfferedError, SwapError
from cipher_nb.model import Message

BASE = "base"
CONTROL_S = 30.0
"""How long the server may take to answer what is no question to the model."""
PATIENCE_S = 60.0
"""How long requests in flight may take to finish, and how long the canary may."""
ERASE_S = 1.0
POLL_S = 0.05
TRIES = 3
UNSEEN = "its slots can be neither erased nor waited for"
UNERASED = "its slots cannot be erased"


@dataclass(frozen=True)
class Canary:
    """A prompt whose answers were recorded when an adapter was staged: `answers` maps "base" and ids to texts."""

    messages: tuple[Message, ...]
    answers: Mapping[str, str]
    max_tokens: int = 32


@dataclass(frozen=True)
class SwapProof:
    """What was shown: which adapter the server says it applies, the time of the change, the canary's answer.

    `change_ms` covers setting the scales, reading them back and erasing the free slots; the canary is not in it.
    `in_flight` requests had begun before the change and finished on the adapter before. `canary` is "as recorded",
    or "not recorded" where no answer is known for this adapter. `unproved` says what this server lets nobody see.
    """

    adapter: str
    change_ms: float
    slots_erased: int
    canary: str
    answer: str = ""
    in_flight: int = 0
    unproved: tuple[str, ...] = ()


@dataclass(frozen=True)
class Change:
    """A change that was read back. `begun` maps the slots that were busy to the requests they were on."""

    change_ms: float = 0.0
    slots_erased: int = 0
    begun: Mapping[int, int] = field(default_factory=dict)
    unproved: tuple[str, ...] = ()


def serve(client: Client, adapter: str, *, canary: Canary | None = None, patience_s: float = PATIENCE_S) -> SwapProof:
    """Make `adapter` (an id, or "base") the one that answers, and prove it; `client` asks it from now on.

    The change is made and read back; requests in flight finish on the adapter they began with; then the canary must
    answer as it was recorded. Waits up to `patience_s` for either. Raises SwapError when the server does not hold the
    adapter, does not do as it was told, or is not done with the earlier requests; EngineError when it does not answer.
    """
    done = change(client, adapter)
    with client.bounded(CONTROL_S):
        _finish(client, done.begun, patience_s)
    verdict, answer = ask(client, adapter, canary, patience_s=patience_s)
    return SwapProof(
        adapter, done.change_ms, done.slots_erased, verdict, answer, in_flight=len(done.begun), unproved=done.unproved
    )


def change(client: Client, adapter: str) -> Change:
    """Set the scale of every adapter the server holds, read them back, and erase the slots that are free.

    A slot's cache was computed under the adapter it was last asked under. This waits for no request in flight.
    """
    started = time.perf_counter()
    with client.bounded(CONTROL_S):
        _set(client, adapter)
        swept = _sweep(client)
    change_ms = (time.perf_counter() - started) * 1000
    return replace(swept, change_ms=change_ms, unproved=(*swept.unproved, *_shared(client)))


def ask(client: Client, adapter: str, canary: Canary | None, *, patience_s: float = PATIENCE_S) -> tuple[str, str]:
    """Return the canary's verdict and answer; SwapError when it is not the recorded one.

    Beside other requests a near-tie between two words may fall otherwise: a wrong answer given then is asked for again.
    """
    if canary is None or adapter not in canary.answers:
        return "not recorded", ""
    with client.bounded(patience_s):
        for _ in range(TRIES):
            answer = client.chat(canary.messages, max_tokens=canary.max_tokens).text
            if answer == canary.answers[adapter]:
                return "as recorded", answer
            if not _sweep(client).begun:
                break
    raise SwapError(
        f"{client.url} with adapter {adapter} answers the canary with {answer!r}, "
        f"recorded was {canary.answers[adapter]!r}; it does not serve what was staged"
    )


def served(client: Client) -> str:
    """Return the id of the adapter that the server applies, or "base"; SwapError when it mixes several."""
    return _only(client, _loaded(client))


def follow(client: Client) -> None:
    """Let `client` be answered by what the server applies now, whatever it applies later."""
    with client.bounded(CONTROL_S):
        loaded = _loaded(client)
    client.pin(_only(client, loaded), {each.number: each.scale for each in loaded})


def pin(client: Client, adapter: str) -> bool:
    """Let `client` be answered by `adapter`, whatever the server applies, and tell whether that is what it applies.

    Raises SwapError when the server does not hold it.
    """
    with client.bounded(CONTROL_S):
        loaded = _loaded(client)
    scales = _scales(client, loaded, adapter)
    client.pin(adapter, scales)
    return scales == {each.number: each.scale for each in loaded}


def limits(client: Client) -> tuple[str, ...]:
    """Say what of a swap this server lets nobody prove; changes nothing."""
    with client.bounded(CONTROL_S):
        try:
            _, unproved = _erase(client, [len(client.slots())])  # one that is not there: only the refusals differ
        except NotOfferedError as error:
            unproved = (f"{UNSEEN}: {error}",)
        except EngineError:
            unproved = ()
    return (*unproved, *_shared(client))


def drain(client: Client, *, patience_s: float = PATIENCE_S) -> None:
    """Wait until the server is on no request, or `patience_s` are over."""
    deadline = time.monotonic() + patience_s
    with client.bounded(CONTROL_S):
        while time.monotonic() < deadline and any(slot.busy for slot in client.slots()):
            time.sleep(POLL_S)


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


def _loaded(client: Client) -> list[LoadedAdapter]:
    try:
        return client.adapters()
    except NotOfferedError as error:
        raise SwapError(
            f"{client.url} does not say which adapters it applies ({error}); name a llama.cpp server in [engine] url"
        ) from error


def _set(client: Client, adapter: str) -> None:
    loaded = _loaded(client)
    wanted = _scales(client, loaded, adapter)
    if wanted:
        client.set_scales(wanted)
        loaded = client.adapters()
    if {each.number: each.scale for each in loaded} != wanted:
        found = ", ".join(f"{each.name} at {each.scale:g}" for each in loaded)
        raise SwapError(
            f"{client.url} applies {found} after it was told to apply {adapter}; see: cipher-nb engine logs"
        )
    client.pin(adapter, wanted)


def _scales(client: Client, loaded: Sequence[LoadedAdapter], adapter: str) -> dict[int, float]:
    numbers = [each.number for each in loaded if each.name == adapter]
    if adapter != BASE and len(numbers) != 1:
        held = ", ".join(each.name for each in loaded) or "none"
        raise SwapError(
            f"{client.url} does not hold adapter {adapter}{' just once' * bool(numbers)} (it holds: {held}); "
            "see: cipher-nb engine status"
        )
    return {each.number: float(each.number in numbers) for each in loaded}


def _only(client: Client, loaded: Sequence[LoadedAdapter]) -> str:
    applied = [each.name for each in loaded if each.scale != 0.0]
    if len(applied) > 1:
        raise SwapError(f"{client.url} applies several adapters at once: {', '.join(applied)}; run: cipher-nb rollback")
    return applied[0] if applied else BASE


def _shared(client: Client) -> tuple[str, ...]:
    if client.trust_caches:
        return ()
    return (
        "what other programs ask may come from a cache of the adapter before, unless it runs with --cache-ram 0; "
        "what is asked here builds on no cache",
    )


def _sweep(client: Client) -> Change:
    """Erase the slots that are free; those that are not are told."""
    try:
        slots = client.slots()
    except NotOfferedError as error:
        return Change(unproved=(f"{UNSEEN}: {error}",))
    begun = {slot.number: slot.task for slot in slots if slot.busy}
    free = [slot.number for slot in slots if not slot.busy]
    erased, unproved = _erase(client, free)
    return Change(slots_erased=erased, begun=begun, unproved=unproved)


def _erase(client: Client, slots: Sequence[int]) -> tuple[int, tuple[str, ...]]:
    """Erase free slots; return how many, and what the server has against it.

    A slot that a request took first is left to it: the request names its own adapter.
    """
    erased = 0
    for slot in slots:
        try:
            with client.bounded(ERASE_S):
                client.erase_slot(slot)
            erased += 1
        except EngineTimeoutError:
            client.slots()  # a server that hangs does not answer this either
        except NotOfferedError as error:
            return erased, (f"{UNERASED}: {error}",)
    return erased, ()


def _finish(client: Client, begun: Mapping[int, int], patience_s: float) -> None:
    """Wait until the requests `begun` are done, and erase the slots they leave."""
    waiting, deadline = dict(begun), time.monotonic() + patience_s
    while waiting:
        if time.monotonic() > deadline:
            raise SwapError(
                f"{client.url} is not done after {patience_s:g} s with {len(waiting)} requests that began before the "
                "change; try again when it is"
            )
        time.sleep(POLL_S)
        slots = client.slots()
        left = [
            slot for slot in slots if slot.number in waiting and not (slot.busy and slot.task == waiting[slot.number])
        ]
        _erase(client, [slot.number for slot in left if not slot.busy])
        for slot in left:
            del waiting[slot.number]
