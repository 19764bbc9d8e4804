"""Replay against forgetting: the frozen base's own answers to general prompts."""

from __future__ import annotations

import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

import orjson

from cipher_nb.files import append_line
from cipher_nb.model import Model
from cipher_nb.training.general_prompts import GENERAL_PROMPTS
from cipher_nb.training.pairs import Pair, read_pairs

ASKED_AT_ONCE = 4

Progress = Callable[[int, int], None]


def replay_pairs(
    model: Model, *, path: Path, count: int, seed: int, max_tokens: int = 48, on_progress: Progress | None = None
) -> list[Pair]:
    """Return up to `count` replay pairs, asking `model` (the base, no adapter) only for those not in `path` yet.

    `seed` chooses the prompts; there are as many pairs as GENERAL_PROMPTS at most. Every answer is kept in `path`
    (JSONL) as it arrives, so an interrupted run loses nothing. `on_progress` gets how many are there, of how many.
    Empty answers are left out. Raises EngineError when the model gives no answer.
    """
    rng = random.Random(seed)  # noqa: S311
    prompts = rng.sample(GENERAL_PROMPTS, min(count, len(GENERAL_PROMPTS)))
    answered = {pair.user_text: pair for pair in read_pairs(path)}
    missing = [prompt for prompt in prompts if prompt not in answered]
    with ThreadPoolExecutor(ASKED_AT_ONCE) as pool:
        futures = [pool.submit(_ask, model, prompt, path, max_tokens) for prompt in missing]
        try:
            for done, future in enumerate(as_completed(futures), len(prompts) - len(missing) + 1):
                pair = future.result()
                answered[pair.user_text] = pair
                if on_progress:
                    on_progress(done, len(prompts))
        finally:
            pool.shutdown(cancel_futures=True)
    return [answered[prompt] for prompt in prompts if answered[prompt].response.strip()]


def _ask(model: Model, prompt: str, path: Path, max_tokens: int) -> Pair:
    messages = ({"role": "user", "content": prompt},)
    reply = model.chat(messages, max_tokens=max_tokens)
    pair = Pair(messages, reply.text, source="replay", finished=reply.finish_reason == "stop")
    append_line(path, orjson.dumps(pair.to_json()))
    return pair
