"""Speed and memory of our training beside a plain padded loop and TRL's SFTTrainer, in one run on the same pairs.

    python tests/bench/bench_training.py [--samples 48] [--rounds 2] [--nf4] [--only NAME]…

Every prompt begins with the same scaffold of some 250 tokens, as those of a workspace do; user turns have 20 to 60,
answers 10 to 60. All train the same adapter on the same base, in the same number type, with batches of 8, AdamW,
clipped gradients and loss on the answers only. Each contender runs in a process of its own, one after the other and
that `--rounds` times, and is timed after one step of warm-up. TRL runs with its own collator as it comes (it
checkpoints), without checkpointing, and with packing; without FlashAttention its packed samples see each other, so that
one is not the same training. The model is the embedded one, or the GGUF that CIPHER_NB_TEST_GGUF names; on a GPU where
there is one.

Of the matmul peak, measured in this run at the model's sizes, a contender's share counts what it computes in linear
layers, forward and backward to their inputs: a shared prefix once, padding too; not attention and not the adapter.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

from cipher_nb.config import TrainingSettings
from cipher_nb.engine.models import fetch_model
from cipher_nb.paths import user_cache
from cipher_nb.training.base.checkpoint import checkpoint_for
from cipher_nb.training.data.pairs import Pair
from cipher_nb.training.gradients.accumulate import accumulate_gradients, groups
from cipher_nb.training.gradients.batches import Sample, lay_out
from cipher_nb.training.libraries import prepare_libraries
from cipher_nb.training.qlora.load import load_base, with_adapter
from cipher_nb.training.qlora.tokens import encode, load_tokenizer

SETTINGS = TrainingSettings()
BATCH = SETTINGS.batch_size
CONTENDERS = {
    "cipher_nb": "cipher_nb (shared prefixes)",
    "padded": "plain padded loop",
    "trl": "TRL as it comes",
    "trl-no-checkpointing": "TRL, no checkpointing",
    "trl-packing": "TRL, packing (contaminated)",
}
SYSTEM = "\n".join(
    [
        "You are a careful coding assistant. Answer briefly. Change only what is asked.",
        *(
            f"[learned] {line}"
            for line in (
                "prefers pathlib over os.path in new modules",
                "tests are written with pytest and real files, never with mocks of our own code",
                "public functions carry type hints and one sentence of documentation",
                "commits are small and say in one line what a user can do now",
                "errors name the thing, the value and the way out",
                "no new dependency without a measured reason",
                "dates are written as RFC 3339 in UTC with a trailing Z",
                "durable files are written to a scratch name and renamed into place",
                "configuration is read once, at the edge, and passed down as values",
                "shell commands are argument lists, never strings",
                "a bug fix begins with a test that fails without it",
                "log lines hold no secrets and no paths of the home folder",
            )
        ),
        "[workspace] a Python package with a command line, tests and a small web server; Python 3.11; ruff and mypy",
    ]
)
WORDS = re.findall(
    r"\w+",
    "file folder path line test module function class value error list table name reader writer server client cache "
    "lock queue parser token index query result report option default check build release branch commit change "
    "read write open close move copy rename sort merge split count find print parse format validate retry",
)


def pairs(count: int) -> list[Pair]:
    rng = random.Random(11)

    def text(words: int) -> str:
        return " ".join(rng.choice(WORDS) for _ in range(words))

    def pair(number: int) -> Pair:
        question = f"Case {number}: {text(rng.randint(10, 40))}?"
        messages = ({"role": "system", "content": SYSTEM}, {"role": "user", "content": question})
        return Pair(messages, f"{text(rng.randint(8, 50))}.")

    return [pair(number) for number in range(count)]


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
    inputs = {"input_ids": ids, "attention_mask": mask, "labels": labels}
    inputs = {name: tensor.to(model.device) for name, tensor in inputs.items()}
    model(**inputs, use_cache=False).loss.backward()


def ours(model: Any, batch: Sequence[Sample], tokenizer: Any) -> None:
    accumulate_gradients(model.get_base_model(), batch, max_tokens=SETTINGS.micro_batch_tokens)


def loop_seconds(step: Callable[[Any, Sequence[Sample], Any], None], model: Any, samples: Sequence[Sample]) -> float:
    """Seconds of all batches but the first."""
    import torch

    tokenizer = load_tokenizer(checkpoint())
    model.train()
    weights = [weight for weight in model.parameters() if weight.requires_grad]
    optimizer = torch.optim.AdamW(weights, lr=SETTINGS.lr, weight_decay=0.0)
    started = 0.0
    for start in range(0, len(samples), BATCH):
        if start == BATCH:
            started = now(model)
        step(model, samples[start : start + BATCH], tokenizer)
        torch.nn.utils.clip_grad_norm_(weights, SETTINGS.max_grad_norm)
        optimizer.step()
        optimizer.zero_grad()
    return now(model) - started


def trl_seconds(name: str, model: Any, used: Sequence[Pair], folder: str) -> float:
    """TRL's own path: prompt and completion, loss on the completion. Packing makes its steps longer and fewer."""
    import torch
    from datasets import Dataset
    from transformers import TrainerCallback
    from trl import SFTConfig, SFTTrainer

    class Clock(TrainerCallback):
        times: list[float] = []  # noqa: RUF012

        def on_step_end(self, *_: Any, **__: Any) -> None:
            self.times.append(now(model))

    rows = [
        {"prompt": list(pair.messages), "completion": [{"role": "assistant", "content": pair.response}]}
        for pair in used
    ]
    chosen = {} if name == "trl" else {"gradient_checkpointing": False, "packing": name == "trl-packing"}
    config = SFTConfig(
        output_dir=folder,
        per_device_train_batch_size=2 if name == "trl-packing" else BATCH,
        num_train_epochs=1,
        learning_rate=SETTINGS.lr,
        max_length=SETTINGS.max_tokens,
        bf16=model.dtype == torch.bfloat16,
        use_cpu=model.device.type == "cpu",
        report_to=[],
        save_strategy="no",
        disable_tqdm=True,
        logging_strategy="no",
        **chosen,
    )
    trainer = SFTTrainer(
        model=model,
        args=config,
        train_dataset=Dataset.from_list(rows),
        processing_class=load_tokenizer(checkpoint()),
        callbacks=[Clock()],
    )
    trainer.train()
    steps = len(Clock.times)
    seconds = Clock.times[-1] - Clock.times[0]
    return seconds * steps / (steps - 1) * (len(used) - BATCH) / len(used)


def now(model: Any) -> float:
    import torch

    if model.device.type == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter()


def matmul_peak(model: Any) -> float:
    """The best FLOP/s of one matrix product at the model's sizes, in the model's number type."""
    import torch

    config = model.config
    states = torch.randn(1024, config.hidden_size, dtype=model.dtype, device=model.device)
    weight = torch.randn(config.hidden_size, config.intermediate_size, dtype=model.dtype, device=model.device)
    best = 0.0
    for _ in range(10):
        started = now(model)
        for _ in range(10):
            states @ weight
        best = max(best, 20 * states.numel() * config.intermediate_size / (now(model) - started))
    return best


def peak_bytes() -> int:
    """Return the most memory this program held; `ru_maxrss` would count the process that started it as well."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))


def flops(name: str, model: Any, samples: Sequence[Sample]) -> int:
    """What the linear layers compute for `samples`; checkpointing's second forward pass is not counted as work done."""
    config = model.config
    causal_lm = model.get_base_model()
    head = config.vocab_size * config.hidden_size
    adapter = causal_lm.num_parameters(only_trainable=True)
    layers = causal_lm.num_parameters() - adapter - head * (1 if config.tie_word_embeddings else 2)
    computed = scored = 0
    for start in range(0, len(samples), BATCH):
        batch = samples[start : start + BATCH]
        if name == "cipher_nb":
            taken = groups(causal_lm, batch, max_tokens=SETTINGS.micro_batch_tokens)
            computed += sum(len(lay_out(group).tokens) for group in taken)
            scored += sum(sample.response_tokens for sample in batch)
        elif name == "trl-packing":
            computed += sum(len(sample.tokens) for sample in batch)
        else:
            computed += len(batch) * max(len(sample.tokens) for sample in batch)
    return 4 * (computed * layers + (scored or computed) * head)


def checkpoint() -> Path:
    named = os.environ.get("CIPHER_NB_TEST_GGUF")
    gguf = Path(named) if named else fetch_model("smollm2-135m", cache=user_cache())
    return checkpoint_for(gguf, cache=user_cache())


def run(name: str, count: int, *, quantised: bool) -> dict[str, float]:
    """One contender, in this process."""
    prepare_libraries()
    import torch

    used = pairs(count + BATCH)  # the first batch is the warm-up
    samples = encode(used, load_tokenizer(checkpoint()), max_tokens=SETTINGS.max_tokens).samples
    model = with_adapter(load_base(checkpoint(), quantised=quantised), SETTINGS)
    if name in ("cipher_nb", "padded"):
        seconds = loop_seconds(ours if name == "cipher_nb" else padded, model, samples)
    else:
        with tempfile.TemporaryDirectory() as folder:
            seconds = trl_seconds(name, model, used, folder)
    on_gpu = model.device.type == "cuda"
    peak = torch.cuda.max_memory_allocated() if on_gpu else peak_bytes()
    tokens = sum(len(sample.tokens) for sample in samples[BATCH:])
    return {
        "samples_per_s": count / seconds,
        "tokens_per_s": tokens / seconds,
        "peak_bytes": peak,
        "share": flops(name, model, samples[BATCH:]) / seconds / matmul_peak(model),
    }


def in_a_process(name: str, args: argparse.Namespace) -> dict[str, float]:
    command = [sys.executable, __file__, "--samples", str(args.samples), "--contender", name]
    done = subprocess.run(command + ["--nf4"] * args.nf4, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{CONTENDERS[name]} failed: {done.stderr.strip().splitlines()[-1]}")
    row: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    print(line(name, row), flush=True)
    return row


def line(name: str, row: dict[str, float]) -> str:
    return (
        f"{CONTENDERS[name]:<28} {row['samples_per_s']:7.2f} samples/s  {row['tokens_per_s']:8.0f} tokens/s  "
        f"{row['peak_bytes'] / 1e9:5.2f} GB  {100 * row['share']:3.0f} % of the matmul peak"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=48)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--nf4", action="store_true")
    parser.add_argument("--only", action="append", choices=CONTENDERS)
    parser.add_argument("--contender", choices=CONTENDERS, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.contender:
        print(json.dumps(run(args.contender, args.samples, quantised=args.nf4)))
        return
    names = args.only or list(CONTENDERS)
    if missing := [name for name in ("trl", "datasets") if importlib.util.find_spec(name) is None]:
        print(f"TRL: skipped, {' and '.join(missing)} not installed (pip install 'cipher-nb[bench]')")
        names = [name for name in names if not name.startswith("trl")]
    rounds = [{name: in_a_process(name, args) for name in names} for _ in range(args.rounds)]
    print("mean of the rounds")
    means = {name: {key: mean(row[name][key] for row in rounds) for key in rounds[0][name]} for name in names}
    for name, row in means.items():
        print(line(name, row))
    for name in names[1:]:
        speed = means[names[0]]["samples_per_s"] / means[name]["samples_per_s"]
        memory = means[names[0]]["peak_bytes"] / means[name]["peak_bytes"]
        print(f"{CONTENDERS[names[0]]}: {speed:.1f} times {CONTENDERS[name]}, at {memory:.2f} of its memory")


if __name__ == "__main__":
    main()
