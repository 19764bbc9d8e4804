"""The scaffold's place among a client's messages, and what of them is kept."""

from __future__ import annotations

from typing import Any

import pytest

from cipher_nb.errors import RequestError
from cipher_nb.server.messages import as_recorded, as_text, checked, with_scaffold

USER = {"role": "user", "content": "q"}


def system(content: Any, role: str = "system") -> dict[str, Any]:
    return {"role": role, "content": content}


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        ([USER], [system("S"), USER]),
        ([system("mine"), USER], [system("mine\nS"), USER]),
        ([system("", "developer"), USER], [system("S", "developer"), USER]),
        ([system("a"), system("b", "developer"), USER], [system("a"), system("b\nS", "developer"), USER]),
        ([system(None)], [system("S")]),
        ([USER, system("late")], [system("S"), USER, system("late")]),
        (
            [system([{"type": "text", "text": "mine"}]), USER],
            [system([{"type": "text", "text": "mine"}, {"type": "text", "text": "S"}]), USER],
        ),
        ([{**system("mine"), "name": "n"}], [{**system("mine\nS"), "name": "n"}]),
        ([system({"no": "content"})], [system({"no": "content"})]),
    ],
)
def test_the_scaffold_stands_behind_the_clients_leading_system_text(sent: Any, expected: Any) -> None:
    assert with_scaffold(sent, "S") == expected


def test_without_a_scaffold_nothing_is_added() -> None:
    assert with_scaffold([USER], "") == [USER]


def test_what_the_client_sent_is_left_as_it_was() -> None:
    sent = [system([{"type": "text", "text": "mine"}]), USER]
    with_scaffold(sent, "S")
    assert sent == [system([{"type": "text", "text": "mine"}]), USER]


def test_a_text_and_a_list_of_one_part_are_recorded_alike() -> None:
    as_part = with_scaffold([system([{"type": "text", "text": "mine"}])], "S")
    assert as_recorded(as_part) == as_recorded(with_scaffold([system("mine")], "S")) == (system("mine\nS"),)


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ({"content": "plain"}, "plain"),
        ({"content": [{"type": "text", "text": "a"}, {"type": "image_url"}, {"type": "text", "text": "b"}]}, "a\nb"),
        ({"content": None, "tool_calls": [{"id": "1"}]}, '[{"id":"1"}]'),
        ({"content": "said", "tool_calls": [{"id": "1"}]}, "said"),
        ({"content": None}, ""),
        ({}, ""),
    ],
)
def test_a_message_is_kept_as_its_text(message: Any, text: str) -> None:
    assert as_text(message) == text


@pytest.mark.parametrize(
    ("messages", "words"),
    [
        (None, "messages = None is no conversation; give a list of role and content"),
        ([], "messages = [] is no conversation"),
        ("hello", "messages = 'hello' is no conversation"),
        ([USER, "hello"], "messages[1] = 'hello' is no message; give role and content"),
        ([{"content": "x"}], "messages[0] = {'content': 'x'} is no message"),
        ([{"role": 1}], "messages[0] = {'role': 1} is no message"),
    ],
)
def test_what_is_no_conversation_is_named(messages: Any, words: str) -> None:
    with pytest.raises(RequestError) as refused:
        checked(messages)
    assert str(refused.value).startswith(words)
