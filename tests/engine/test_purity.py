"""After any order of swaps the answers are, to the letter, those of a fresh server.

The compared answers are asked one after the other: beside other requests a near-tie between two words may fall
otherwise, whatever the adapter.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from itertools import permutations
from pathlib import Path

import pytest

from cipher_nb.config import EngineSettings
from cipher_nb.engine import swap
from cipher_nb.engine.client import Client
from cipher_nb.engine.server import ServeSpec, serving
from tests.adapter_files import write_adapter
from tests.engine.test_server import spec_for

pytestmark = [pytest.mark.model, pytest.mark.slow]

STATES = ("base", "one", "two")
SHARED = {"role": "system", "content": "You are a careful coding assistant. Answer briefly. Change only what is asked."}
QUESTIONS = [[SHARED, {"role": "user", "content": text}] for text in ("Name a colour.", "Name the capital of Spain.")]
STORY = [SHARED, {"role": "user", "content": "Tell me a long story about a dog and a cat."}]
ORDERS = [*permutations(STATES), ("one", "base", "one", "two", "base", "two", "one"), ("base", "base", "two", "two")]


@pytest.fixture(scope="module")
def spec(embedded_gguf: Path, tmp_path_factory: pytest.TempPathFactory) -> ServeSpec:
    folder = tmp_path_factory.mktemp("purity")
    adapters = tuple(
        write_adapter(folder / f"{name}.gguf", name=name, seed=seed) for name, seed in (("one", 1), ("two", 2))
    )
    settings = EngineSettings(slots=2, context_tokens=4096)
    return replace(spec_for(embedded_gguf, folder, adapters=adapters), settings=settings)


@pytest.fixture(scope="module")
def fresh(spec: ServeSpec) -> Mapping[str, list[str]]:
    """The answers of servers that never served anything else."""
    found = {}
    for state in STATES:
        with serving(spec) as client:
            swap.serve(client, state)
            found[state] = answers(client)
    assert len({tuple(each) for each in found.values()}) == 3
    return found


@pytest.fixture
def client(spec: ServeSpec) -> Iterator[Client]:
    with serving(spec) as client:
        yield client


def answers(client: Client) -> list[str]:
    return [client.chat(question, max_tokens=8).text for question in QUESTIONS]


@contextmanager
def in_flight(client: Client, *, max_tokens: int = 32) -> Iterator[list[str]]:
    """Have a story told for the length of a `with` block, by what answers `client` when it begins; it ends with it."""
    begun, told = threading.Event(), list[str]()
    asker = Client(client.url, api_key=client.api_key)
    asker.pinned = client.pinned

    def ask() -> None:
        with asker:
            told.append(asker.chat(STORY, max_tokens=max_tokens, on_text=lambda _: begun.set()).text)

    thread = threading.Thread(target=ask)
    thread.start()
    assert begun.wait(120)
    try:
        yield told
    finally:
        thread.join()


def test_every_order_of_swaps_leaves_no_trace(client: Client, fresh: Mapping[str, list[str]]) -> None:
    for order in ORDERS:
        for state in order:
            swap.serve(client, state)
            assert answers(client) == fresh[state], f"{state} in {order}"


def test_every_order_of_swaps_with_a_request_in_flight_leaves_no_trace(
    client: Client, fresh: Mapping[str, list[str]]
) -> None:
    swap.serve(client, "base")
    met = 0
    for order in ORDERS:
        for state in order:
            with in_flight(client):
                met += swap.serve(client, state).in_flight
            assert answers(client) == fresh[state], f"{state} in {order}"
    assert met > 10  # some stories are short


def test_a_request_in_flight_is_finished_by_the_adapter_it_began_with(client: Client) -> None:
    swap.serve(client, "one")
    with in_flight(client, max_tokens=60) as alone:
        pass
    with in_flight(client, max_tokens=60) as told:
        swap.serve(client, "two")
    assert told == alone


def test_who_asked_before_a_swap_is_answered_as_before_it_and_leaves_no_trace(
    client: Client, fresh: Mapping[str, list[str]]
) -> None:
    swap.serve(client, "one")
    with Client(client.url, api_key=client.api_key) as earlier:
        swap.follow(earlier)
        swap.serve(client, "two")
        for _ in range(2):
            assert (earlier.adapter, answers(earlier)) == ("one", fresh["one"])
            assert (client.adapter, answers(client)) == ("two", fresh["two"])


def test_a_question_that_waited_for_a_slot_during_a_swap_is_answered_as_it_was_asked(
    client: Client, fresh: Mapping[str, list[str]]
) -> None:
    swap.serve(client, "one")
    said: list[str] = []
    with Client(client.url, api_key=client.api_key) as waiting, in_flight(client), in_flight(client):
        swap.follow(waiting)
        thread = threading.Thread(target=lambda: said.extend(answers(waiting)))
        thread.start()
        swap.serve(client, "two")
        thread.join()
    assert said == fresh["one"]
    assert answers(client) == fresh["two"]
