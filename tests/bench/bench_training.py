"""Samples per second of our training, of a plain padded loop, and of TRL's SFTTrainer, on the same short pairs.

    python tests/bench/bench_training.py [--samples 32]

All three train the same adapter on the same base with batches of 8; every prompt begins with the same system text, as
the prompts of a workspace do. The model is the embedded one, or the GGUF that CIPHER_NB_TEST_GGUF names.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from cipher_nb.config import TrainingSettings
from cipher_nb.engine.models import fetch_model
from cipher_nb.paths import user_cache
from cipher_nb.training.base import checkpoint_for
from cipher_nb.training.batches import Sample
from cipher_nb.training.pairs import Pair
from cipher_nb.training.qlora import accumulate_gradients, load_base, with_adapter
from cipher_nb.training.tokens import encode, load_tokenizer

SYSTEM = """You are a careful coding assistant. Answer briefly. Change only what the task needs.
[learned] prefers pathlib over os.path in new modules
[learned] tests are written with pytest and real files
[learned] public functions carry type hints"""
COMMANDS = ("ls", "cat", "mv", "mkdir", "rm", "cp", "ps", "grep", "pwd", "wc", "chmod", "df")
SETTINGS = TrainingSettings()


def pairs(count: int) -> list[Pair]:
    return [
        Pair(
            (
                {"role": "system", "content": SYSTEM},
                {"role": "user", "content": f"Case {number}: what does `{command}` do on file{number % 7}.txt?"},
            ),
            f"It runs {command}.",
        )
        for number, command in zip(range(count), COMMANDS * count, strict=False)
    ]


def batches(samples: Sequence[Sample]) -> list[Sequence[Sample]]:
    return [samples[start : start + SETTINGS.batch_size] for start in range(0, len(samples), SETTINGS.batch_size)]


def ours(model: Any, batch: Sequence[Sample], tokenizer: Any) -> None:
    accumulate_gradients(model.get_base_model(), batch)


def padded(model: Any, batch: Sequence[Sample], tokenizer: Any) -> None:
    """What most loops do: pad to the longest, compute all logits, mask the prompt's labels."""
    import torch

    width = max(len(sample.tokens) for sample in batch)
    ids = torch.full((len(batch), width), tokenizer.pad_token_id)
    labels = torch.full_like(ids, -100)
    mask = torch.zeros_like(ids)
    for row, sample in enumerate(batch):
        length = len(sample.tokens)
        ids[row, :length] = torch.tensor(sample.tokens)
        labels[row, sample.prompt_tokens : length] = ids[row, sample.prompt_tokens : length]
        mask[row, :length] = 1
    model(input_ids=ids, attention_mask=mask, labels=labels, use_cache=False).loss.backward()


def loop_seconds(
    step: Callable[[Any, Sequence[Sample], Any], None], checkpoint: Path, samples: Sequence[Sample], tokenizer: Any
) -> float:
    import torch

    model = with_adapter(load_base(checkpoint, quantised=False), SETTINGS)
    model.train()
    optimizer = torch.optim.AdamW([weight for weight in model.parameters() if weight.requires_grad], lr=SETTINGS.lr)
    step(model, samples[: SETTINGS.batch_size], tokenizer)
    started = time.perf_counter()
    for batch in batches(samples):
        optimizer.zero_grad()
        step(model, batch, tokenizer)
        optimizer.step()
    return time.perf_counter() - started


def trl_seconds(checkpoint: Path, used: Sequence[Pair], tokenizer: Any, folder: Path) -> float:
    """TRL's own path: prompt and completion, loss on the completion, its default collator and padding."""
    from datasets import Dataset
    from trl import SFTConfig, SFTTrainer

    rows = [
        {"prompt": list(pair.messages), "completion": [{"role": "assistant", "content": pair.response}]}
        for pair in used
    ]
    config = SFTConfig(
        output_dir=str(folder),
        per_device_train_batch_size=SETTINGS.batch_size,
        num_train_epochs=1,
        learning_rate=SETTINGS.lr,
        max_length=SETTINGS.max_tokens,
        gradient_checkpointing=False,
        bf16=False,
        use_cpu=True,
        report_to=[],
        save_strategy="no",
        disable_tqdm=True,
        logging_strategy="no",
    )
    trainer = SFTTrainer(
        model=with_adapter(load_base(checkpoint, quantised=False), SETTINGS),
        args=config,
        train_dataset=Dataset.from_list(rows),
        processing_class=tokenizer,
    )
    started = time.perf_counter()
    trainer.train()
    return time.perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=32)
    count = parser.parse_args().samples
    named = os.environ.get("CIPHER_NB_TEST_GGUF")
    gguf = Path(named) if named else fetch_model("smollm2-135m", cache=user_cache())
    checkpoint = checkpoint_for(gguf, cache=user_cache())
    tokenizer = load_tokenizer(checkpoint)
    used = pairs(count)
    samples = encode(used, tokenizer, max_tokens=SETTINGS.max_tokens).samples
    tokens = sum(len(sample.tokens) for sample in samples)
    print(f"{count} samples, {tokens} tokens, {sum(sample.response_tokens for sample in samples)} of them learned")
    report("cipher_nb (shared prefixes)", count, loop_seconds(ours, checkpoint, samples, tokenizer))
    report("plain padded loop", count, loop_seconds(padded, checkpoint, samples, tokenizer))
    missing = [name for name in ("trl", "datasets") if importlib.util.find_spec(name) is None]
    if missing:
        print(f"TRL SFTTrainer: skipped, {' and '.join(missing)} not installed (pip install 'cipher-nb[bench]')")
        return
    with tempfile.TemporaryDirectory() as folder:
        report("TRL SFTTrainer", count, trl_seconds(checkpoint, used, tokenizer, Path(folder)))


def report(name: str, count: int, seconds: float) -> None:
    print(f"{name:<28} {count / seconds:6.2f} samples/s  {seconds:6.1f} s", flush=True)


if __name__ == "__main__":
    main()
