"""The client against the real server, and against no server."""

from __future__ import annotations

import json
import math

import pytest

from cipher_nb.engine.client import Client
from cipher_nb.errors import EngineError

FRANCE = [
    {"role": "system", "content": "You are a helpful assistant."},
    {"role": "user", "content": "What is the capital of France?"},
]


@pytest.mark.model
def test_a_chat_is_repeatable(embedded_client: Client) -> None:
    first = embedded_client.chat(FRANCE, max_tokens=24)
    assert "Paris" in first.text
    assert first.completion_tokens > 0
    assert embedded_client.chat(FRANCE, max_tokens=24).text == first.text


@pytest.mark.model
def test_an_answer_that_is_cut_off_says_so(embedded_client: Client) -> None:
    assert embedded_client.chat(FRANCE, max_tokens=2).finish_reason == "length"


@pytest.mark.model
def test_a_schema_makes_the_answer_json(embedded_client: Client) -> None:
    schema = {
        "type": "object",
        "properties": {"city": {"type": "string", "maxLength": 20}},
        "required": ["city"],
        "additionalProperties": False,
    }
    reply = embedded_client.chat(FRANCE, max_tokens=64, schema=schema)
    assert list(json.loads(reply.text)) == ["city"]


@pytest.mark.model
def test_probabilities_are_those_of_the_first_token_of_the_answer(embedded_client: Client) -> None:
    likely = embedded_client.next_token_logprobs(FRANCE, top=5)
    assert len(likely) == 5
    assert next(iter(likely)).strip() in embedded_client.chat(FRANCE, max_tokens=8).text
    assert sum(map(math.exp, likely.values())) <= 1.0


@pytest.mark.model
def test_special_tokens_are_one_token(embedded_client: Client) -> None:
    assert len(embedded_client.tokenize("<|im_end|>")) == 1
    assert len(embedded_client.tokenize("12")) == 2


@pytest.mark.model
def test_a_prompt_that_does_not_fit_is_an_error_with_the_servers_reason(embedded_client: Client) -> None:
    with pytest.raises(EngineError, match=r"answered 400: .*exceeds the available context"):
        embedded_client.chat([{"role": "user", "content": "word " * 9000}])


def test_no_server_names_the_address_and_the_command() -> None:
    with pytest.raises(EngineError, match=r"http://127\.0\.0\.1:9 does not answer .*engine status"):
        Client("http://127.0.0.1:9").chat(FRANCE)
    assert not Client("http://127.0.0.1:9").healthy()
