"""Replay against forgetting: the frozen base's own answers, to general prompts and to what it can do already."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

import orjson

from cipher_nb.jsonl import append_line
from cipher_nb.model import Message, Model
from cipher_nb.training.data.general_prompts import GENERAL_PROMPTS
from cipher_nb.training.data.pairs import Pair, read_pairs

ASKED_AT_ONCE = 4

Progress = Callable[[int, int], None]
Prompt = tuple[Message, ...]


def general_prompts(count: int, *, seed: int) -> list[Prompt]:
    """Return `count` of the general prompts, chosen by `seed`; all of them when there are fewer.

    A larger count begins with the same prompts, so that their answers are asked for once.
    """
    rng = random.Random(seed)  # noqa: S311
    texts = rng.sample(GENERAL_PROMPTS, len(GENERAL_PROMPTS))[:count]
    return [({"role": "user", "content": text},) for text in texts]


def replay_pairs(
    model: Model, prompts: Sequence[Prompt], *, path: Path, max_tokens: int = 48, on_progress: Progress | None = None
) -> list[Pair]:
    """Return a replay pair for each of `prompts`, asking only for those that are not in `path` yet.

    `model` is the base without an adapter. Every answer is kept in `path` (JSONL) as it arrives, so an interrupted run
    loses nothing. `on_progress` gets how many are there, of how many. Empty answers are left out. Raises EngineError
    when the model gives no answer.
    """
    answered = {_key(pair.messages): pair for pair in read_pairs(path)}
    missing = [prompt for prompt in prompts if _key(prompt) not in answered]
    with ThreadPoolExecutor(ASKED_AT_ONCE) as pool:
        futures = [pool.submit(_ask, model, prompt, path, max_tokens) for prompt in missing]
        try:
            for done, future in enumerate(as_completed(futures), len(prompts) - len(missing) + 1):
                pair = future.result()
                answered[_key(pair.messages)] = pair
                if on_progress:
                    on_progress(done, len(prompts))
        finally:
            pool.shutdown(cancel_futures=True)
    pairs = [answered[_key(prompt)] for prompt in prompts]
    return [pair for pair in pairs if pair.response.strip()]


def _key(messages: Sequence[Message]) -> tuple[tuple[str, str], ...]:
    return tuple((message["role"], message["content"]) for message in messages)


def _ask(model: Model, prompt: Prompt, path: Path, max_tokens: int) -> Pair:
    reply = model.chat(prompt, max_tokens=max_tokens)
    pair = Pair(prompt, reply.text, source="replay", finished=reply.finish_reason == "stop")
    append_line(path, orjson.dumps(pair.to_json()))
    return pair
