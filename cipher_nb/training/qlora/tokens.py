"""Pairs as token ids, exactly as the server would see the prompt and produce the answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cipher_nb.errors import TrainingError
from cipher_nb.training.data.pairs import Pair
from cipher_nb.training.gradients.batches import Sample
from cipher_nb.training.libraries import prepare_libraries


@dataclass(frozen=True)
class Encoded:
    """The pairs that fit and their samples, side by side; `long` are the ids of those that do not fit."""

    pairs: tuple[Pair, ...]
    samples: tuple[Sample, ...]
    long: tuple[str, ...]


def load_tokenizer(checkpoint: Path) -> Any:
    """Return the checkpoint's tokenizer; TrainingError when it has none, or no chat template."""
    prepare_libraries()
    from transformers import AutoTokenizer

    try:
        tokenizer = AutoTokenizer.from_pretrained(checkpoint, local_files_only=True)
    except (OSError, ValueError) as error:
        raise TrainingError(f"{checkpoint} has no usable tokenizer; name a transformers checkpoint") from error
    if not tokenizer.chat_template or tokenizer.eos_token_id is None:
        raise TrainingError(f"the tokenizer of {checkpoint} has no chat template or no end-of-turn token")
    return tokenizer


def encode(pairs: Sequence[Pair], tokenizer: Any, *, max_tokens: int) -> Encoded:
    """Return the samples of `pairs`, without those longer than `max_tokens`: a cut answer would teach a wrong one."""
    kept, samples, long = [], [], []
    for pair in pairs:
        sample = encode_pair(pair, tokenizer)
        if len(sample.tokens) > max_tokens:
            long.append(pair.id)
        else:
            kept.append(pair)
            samples.append(sample)
    return Encoded(tuple(kept), tuple(samples), tuple(long))


def encode_pair(pair: Pair, tokenizer: Any) -> Sample:
    """Return the chat template's prompt and the response with the end-of-turn token, if the answer did end.

    Both are tokenized apart: the server never joins a token across the start of its answer.
    """
    text = tokenizer.apply_chat_template(list(pair.messages), tokenize=False, add_generation_prompt=True)
    prompt = tokenizer(text, add_special_tokens=False)["input_ids"]
    response = tokenizer(pair.response, add_special_tokens=False)["input_ids"]
    end = [tokenizer.eos_token_id] if pair.finished else []
    return Sample(tuple(prompt + response + end), len(prompt))
