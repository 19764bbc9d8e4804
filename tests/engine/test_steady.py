"""Answers that do not depend on what was asked before, how many servers there are, or which of them answers."""

from __future__ import annotations

import random
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from cipher_nb.config import EngineSettings
from cipher_nb.engine.client import Client
from cipher_nb.engine.server import ServeSpec
from cipher_nb.engine.steady import SteadyServers, steady_serving, steady_settings
from cipher_nb.engine.templates import Templates
from cipher_nb.model import Message
from tests.adapter_files import write_adapter

Asked = tuple[tuple[Message, ...], bool]

SYSTEMS = ("Answer with one word.", "Say what the user is doing.")
STORY = "I made a branch, changed the parser, ran the tests twice, found one flaky and wrote a note about it. " * 8
QUESTIONS: list[Asked] = [
    (
        (
            {"role": "system", "content": system},
            {"role": "user", "content": "I undid a commit."},
            {"role": "assistant", "content": "undoing"},
            {"role": "user", "content": STORY[: 80 * number] + "and so on."},
        ),
        number % 2 == 0,
    )
    for system in SYSTEMS
    for number in range(1, 11)
]
"""Each begins as the one before it and goes on, up to a length that is computed in another way than a short one: what
a slot still holds, and with it the answers, would depend on their order."""


def answers(model: SteadyServers, questions: Sequence[Asked]) -> dict[str, object]:
    def ask(question: Asked) -> tuple[str, object]:
        messages, by_probability = question
        if by_probability:
            return str(messages), dict(model.next_token_logprobs(messages))
        return str(messages), model.chat(messages, max_tokens=8).text

    with ThreadPoolExecutor(model.workers) as pool:
        return dict(pool.map(ask, questions))


def spec(gguf: Path, folder: Path, *, slots: int, adapters: tuple[Path, ...] = ()) -> ServeSpec:
    settings = EngineSettings(slots=slots, context_tokens=2048 * slots)
    return ServeSpec(gguf, "m", adapters, settings, folder / "slots", folder / "engine.log")


@pytest.mark.slow
@pytest.mark.model
def test_answers_are_the_same_to_the_bit_in_any_order_after_a_restart_and_on_any_number_of_servers(
    embedded_gguf: Path, tmp_path: Path
) -> None:
    shuffled = random.Random(3).sample(QUESTIONS, len(QUESTIONS))
    with steady_serving(spec(embedded_gguf, tmp_path, slots=1)) as one:
        assert one.workers == 1
        expected = answers(one, QUESTIONS)
        assert answers(one, shuffled) == expected
    (tmp_path / "slots/steady-999999999-x").mkdir()
    with steady_serving(spec(embedded_gguf, tmp_path, slots=2)) as two:
        assert two.workers == 2
        assert answers(two, shuffled[:7]) | answers(two, QUESTIONS[::-1]) == expected
    assert len(expected) == 20
    assert list((tmp_path / "slots").iterdir()) == []


@pytest.mark.slow
@pytest.mark.model
def test_a_question_goes_to_the_free_server_that_knows_how_it_begins(embedded_gguf: Path, tmp_path: Path) -> None:
    with steady_serving(spec(embedded_gguf, tmp_path, slots=2)) as model:
        first, second = model.members
        (one, _), (other, _) = QUESTIONS[0], QUESTIONS[-1]
        for asked in (one, other, other, one, other):
            model.next_token_logprobs(asked, top=1)
        assert (first.knows(one), second.knows(other)) == (True, True)


@pytest.mark.slow
@pytest.mark.model
def test_answers_are_those_of_the_adapter_served_whatever_else_is_loaded(embedded_gguf: Path, tmp_path: Path) -> None:
    first, second = (write_adapter(tmp_path / f"{name}.gguf", name=name, seed=ord(name)) for name in "ab")
    asked = QUESTIONS[:6]
    with steady_serving(spec(embedded_gguf, tmp_path, slots=1)) as alone:
        base = answers(alone, asked)
    with steady_serving(spec(embedded_gguf, tmp_path, slots=1, adapters=(first,))) as alone:
        alone.serve("a")
        with_a = answers(alone, asked)
    with steady_serving(spec(embedded_gguf, tmp_path, slots=2, adapters=(second, first))) as both:
        for adapter, expected in (("a", with_a), ("base", base), ("a", with_a)):
            assert both.serve(adapter).adapter == adapter
            assert answers(both, asked) == expected
        both.serve("b")
        assert answers(both, asked) not in (base, with_a)
    assert base != with_a


@pytest.mark.model
def test_a_server_says_how_many_requests_it_answers_at_once(embedded_client: Client) -> None:
    assert len(embedded_client.slots()) == 4


@pytest.mark.slow
@pytest.mark.model
def test_prompts_are_laid_out_as_the_server_does(embedded_gguf: Path, tmp_path: Path) -> None:
    asked: list[Sequence[Message]] = []
    with steady_serving(spec(embedded_gguf, tmp_path, slots=1)) as model:

        def render(messages: Sequence[Message]) -> str:
            asked.append(messages)
            return model.client.render(messages)

        templates = Templates(render)
        for messages, _ in QUESTIONS:
            assert templates.prompt(messages) == model.client.render(messages)
    assert len(asked) == 4


def test_a_text_that_a_template_may_change_is_laid_out_by_the_server() -> None:
    def trims(messages: Sequence[Message]) -> str:
        return "".join(f"[{message['content'].strip()}]" for message in messages) + "="

    asked: list[Sequence[Message]] = []
    templates = Templates(lambda messages: asked.append(messages) or trims(messages))  # type: ignore[func-returns-value]
    system = {"role": "system", "content": "s"}
    for text in ("plain", " padded ", "<tool>", "plain again"):
        messages = (system, {"role": "user", "content": text})
        assert templates.prompt(messages) == trims(messages)
    assert len(asked) == 4
    assert templates.preface((system, {"role": "user", "content": " other"})) == "[s]["


def test_a_template_without_a_beginning_has_an_empty_preface() -> None:
    assert Templates(lambda messages: messages[-1]["content"] + "=").preface(({"role": "user", "content": "q"},)) == ""


def test_a_template_that_says_something_twice_has_no_preface() -> None:
    templates = Templates(lambda messages: messages[-1]["content"] * 2)
    assert templates.preface(({"role": "user", "content": "q"},)) is None
    assert templates.prompt(({"role": "user", "content": "q"},)) == "qq"


def test_what_decides_an_answer_is_the_context_of_one_slot() -> None:
    one, four = EngineSettings(slots=1, context_tokens=4096), EngineSettings(slots=4, context_tokens=16_384, threads=3)
    assert steady_settings(one) == steady_settings(four) == {"asked": "alone", "context_tokens": 4096}
