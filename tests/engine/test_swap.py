"""Swapping adapters on the real server: what it says, what it answers, and what it refuses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from cipher_nb.engine import swap
from cipher_nb.engine.client import Client
from cipher_nb.engine.server import serving
from cipher_nb.errors import SwapError
from tests.adapter_files import write_adapter
from tests.engine.test_server import spec_for

pytestmark = [pytest.mark.model, pytest.mark.slow]

SHARED = [{"role": "system", "content": "You are a careful assistant. Answer in one short sentence."}]
QUESTIONS = [
    [*SHARED, {"role": "user", "content": text}]
    for text in ("What is the capital of France?", "What is the capital of Spain?", "Name a colour.")
]


@pytest.fixture(scope="module")
def client(embedded_gguf: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    folder = tmp_path_factory.mktemp("swap")
    adapters = tuple(
        write_adapter(folder / f"{name}.gguf", name=name, seed=seed) for name, seed in (("one", 1), ("two", 2))
    )
    with serving(spec_for(embedded_gguf, folder, adapters=adapters)) as client:
        yield client


def answers(client: Client) -> list[str]:
    return [client.chat(question, max_tokens=16).text for question in QUESTIONS]


def test_every_adapter_is_loaded_but_silent_until_it_is_served(client: Client, embedded_client: Client) -> None:
    assert [(each.name, each.scale) for each in client.adapters()] == [("one", 0.0), ("two", 0.0)]
    assert swap.served(client) == "base"
    assert answers(client) == answers(embedded_client)


def test_after_any_order_of_swaps_the_answers_are_those_of_the_served_adapter(client: Client) -> None:
    expected = {}
    for adapter in ("base", "one", "two"):
        swap.serve(client, adapter)
        expected[adapter] = answers(client)
    assert expected["base"] != expected["one"] != expected["two"]
    for adapter in ("one", "base", "two", "one", "two", "base"):
        proof = swap.serve(client, adapter)
        assert (proof.adapter, proof.slots_erased, swap.served(client)) == (adapter, 4, adapter)
        assert answers(client) == expected[adapter]


def test_an_adapter_the_server_does_not_hold_is_refused_and_nothing_changes(client: Client) -> None:
    swap.serve(client, "one")
    with pytest.raises(SwapError, match=r"does not hold adapter three \(it holds: one, two\)"):
        swap.serve(client, "three")
    assert swap.served(client) == "one"


def test_the_canary_is_a_prompt_that_tells_the_adapters_apart(client: Client) -> None:
    canary = swap.record(client, ["base", "one"], QUESTIONS, max_tokens=16)
    assert canary.answers["base"] != canary.answers["one"]
    assert swap.serve(client, "base", canary=canary).canary == "as recorded"
    assert swap.serve(client, "one", canary=canary).canary == "as recorded"
    assert swap.serve(client, "two", canary=canary).canary == "not recorded"


def test_a_canary_that_answers_otherwise_fails_the_swap(client: Client) -> None:
    canary = swap.record(client, ["base", "one"], QUESTIONS, max_tokens=16)
    forged = replace(canary, answers={**canary.answers, "one": "something else"})
    with pytest.raises(SwapError, match="recorded was 'something else'"):
        swap.serve(client, "one", canary=forged)
