"""QLoRA, read top to bottom: encode, load, attach, loop, save."""

from __future__ import annotations

import dataclasses
import math
import random
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cipher_nb.config import TrainingSettings
from cipher_nb.errors import TrainingError
from cipher_nb.files import write_atomic, write_json
from cipher_nb.training.batches import Sample, lay_out, micro_batches, response_loss
from cipher_nb.training.libraries import prepare_libraries
from cipher_nb.training.pairs import Pair
from cipher_nb.training.tokens import encode, load_tokenizer

TREE_TOKENS = 512
QUANTISED_ABOVE = 1_000_000_000


@dataclass(frozen=True)
class Step:
    """One optimizer step. `loss` is the mean over its response tokens; `tokens` counts whole samples, prompts too."""

    number: int
    total: int
    loss: float
    tokens: int
    tokens_per_s: float


@dataclass(frozen=True)
class Trained:
    """What came of it. `losses` is one per step, `pair_ids` those trained on, `dropped_long` how many were too long.

    A run that was stopped has written nothing to `adapter_dir`.
    """

    adapter_dir: Path
    steps: int
    losses: tuple[float, ...]
    tokens: int
    seconds: float
    quantised: bool
    pair_ids: tuple[str, ...]
    dropped_long: int
    stopped: bool


def train(
    pairs: Sequence[Pair],
    *,
    checkpoint: Path,
    settings: TrainingSettings,
    out: Path,
    on_step: Callable[[Step], None] | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> Trained:
    """Train a LoRA adapter of all linear layers on `pairs` and write it to the folder `out`, as peft does.

    AdamW without weight decay; the learning rate rises over `warmup_share` of the steps and falls linearly to zero. A
    step's loss is the mean over the response tokens of its `batch_size` pairs, the end of turn among them. The same
    pairs, settings and machine give the same bytes. `should_stop` is asked before every step.

    Raises TrainingError when nothing can be trained on, or the loss is not a number.
    """
    _refuse_useless(settings)
    prepare_libraries()
    import torch

    started = time.monotonic()
    encoded = encode(pairs, load_tokenizer(checkpoint), max_tokens=settings.max_tokens)
    if not encoded.samples:
        raise TrainingError(f"none of {len(pairs)} pairs fits max_tokens = {settings.max_tokens}; nothing to train on")
    with torch.random.fork_rng():
        torch.manual_seed(settings.seed)
        quantised = wants_4bit(checkpoint, settings)
        model = with_adapter(load_base(checkpoint, quantised=quantised), settings)
        steps, stopped = _loop(model, encoded.samples, settings, on_step, should_stop)
    if not stopped:
        _save(model, out)
    return Trained(
        adapter_dir=out,
        steps=len(steps),
        losses=tuple(step.loss for step in steps),
        tokens=sum(step.tokens for step in steps),
        seconds=time.monotonic() - started,
        quantised=quantised,
        pair_ids=tuple(pair.id for pair in encoded.pairs),
        dropped_long=len(encoded.long),
        stopped=stopped,
    )


def wants_4bit(checkpoint: Path, settings: TrainingSettings) -> bool:
    """Return whether the base is to be loaded as NF4: as set, or by its size where the setting is "auto"."""
    if settings.load_in_4bit != "auto":
        return settings.load_in_4bit == "yes"
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    with torch.device("meta"):
        empty = AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(checkpoint, local_files_only=True))
    return bool(empty.num_parameters() > QUANTISED_ABOVE)


def load_base(checkpoint: Path, *, quantised: bool) -> Any:
    """Return the checkpoint's causal model on the GPU where there is one; NF4 with double quantisation if `quantised`.

    Computes in float32 on a CPU, where bfloat16 is slow or not there at all, and in bfloat16 on a GPU that has it.
    """
    import torch
    from transformers import AutoModelForCausalLM, BitsAndBytesConfig

    on_gpu = torch.cuda.is_available()
    dtype = torch.bfloat16 if on_gpu and torch.cuda.is_bf16_supported() else torch.float32
    options: dict[str, Any] = {"dtype": dtype, "attn_implementation": "sdpa", "local_files_only": True}
    if quantised:
        options["quantization_config"] = BitsAndBytesConfig(
            load_in_4bit=True,
            bnb_4bit_quant_type="nf4",
            bnb_4bit_use_double_quant=True,
            bnb_4bit_compute_dtype=dtype,
        )
    try:
        device = "cuda" if on_gpu else "cpu"
        return AutoModelForCausalLM.from_pretrained(checkpoint, device_map={"": device}, **options)
    except (OSError, ValueError) as error:
        raise TrainingError(f"{checkpoint} cannot be loaded as a transformers checkpoint ({error})") from error


def with_adapter(base: Any, settings: TrainingSettings) -> Any:
    """Return `base` frozen, with a fresh adapter on every linear layer but the output's."""
    from peft import LoraConfig, get_peft_model

    config = LoraConfig(
        r=settings.rank, lora_alpha=settings.alpha, target_modules="all-linear", bias="none", task_type="CAUSAL_LM"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # peft asks transformers by an old name
        return get_peft_model(base, config)


def _loop(
    model: Any,
    samples: Sequence[Sample],
    settings: TrainingSettings,
    on_step: Callable[[Step], None] | None,
    should_stop: Callable[[], bool] | None,
) -> tuple[list[Step], bool]:
    import torch

    weights = [weight for weight in model.parameters() if weight.requires_grad]
    optimizer = torch.optim.AdamW(weights, lr=settings.lr, weight_decay=0.0)
    total = settings.epochs * math.ceil(len(samples) / settings.batch_size)
    started, tokens, steps = time.monotonic(), 0, list[Step]()
    model.train()
    for number, batch in enumerate(_batches(samples, settings), 1):
        if should_stop and should_stop():
            return steps, True
        loss = accumulate_gradients(model.get_base_model(), batch)
        if not math.isfinite(loss):
            raise TrainingError(f"the loss is {loss} at step {number} of {total}; lower [training] lr = {settings.lr}")
        for group in optimizer.param_groups:
            group["lr"] = settings.lr * _rate(number, total, settings.warmup_share)
        torch.nn.utils.clip_grad_norm_(weights, settings.max_grad_norm)
        optimizer.step()
        optimizer.zero_grad()
        step_tokens = sum(len(sample.tokens) for sample in batch)
        tokens += step_tokens
        steps.append(Step(number, total, loss, step_tokens, tokens / (time.monotonic() - started)))
        if on_step:
            on_step(steps[-1])
    return steps, False


def accumulate_gradients(causal_lm: Any, batch: Sequence[Sample]) -> float:
    """Add the gradients of the mean loss over the batch's response tokens, and return that loss."""
    learned = sum(sample.response_tokens for sample in batch)
    mean = 0.0
    for group in micro_batches(batch, max_tokens=TREE_TOKENS):
        loss = response_loss(causal_lm, lay_out(group)) / learned
        loss.backward()
        mean += float(loss.detach())
    return mean


def _batches(samples: Sequence[Sample], settings: TrainingSettings) -> Iterator[list[Sample]]:
    rng = random.Random(settings.seed)  # noqa: S311
    for _ in range(settings.epochs):
        order = rng.sample(samples, len(samples))
        for start in range(0, len(order), settings.batch_size):
            yield order[start : start + settings.batch_size]


def _rate(number: int, total: int, warmup_share: float) -> float:
    """Return the share of the learning rate at step `number`: up to 1 over the warm-up, then down, 0 after the last."""
    warmup = max(1, math.ceil(total * warmup_share))
    return number / warmup if number < warmup else (total - number + 1) / (total - warmup + 1)


def _save(model: Any, out: Path) -> None:
    """Write what peft's `save_pretrained` does, but the same bytes each time, without a local path, the config last."""
    from peft import get_peft_model_state_dict
    from safetensors.torch import save

    tensors = {name: weight.contiguous().cpu() for name, weight in get_peft_model_state_dict(model).items()}
    config = dataclasses.replace(model.peft_config["default"], base_model_name_or_path=None, inference_mode=True)
    as_json = {key: sorted(value) if isinstance(value, set) else value for key, value in config.to_dict().items()}
    write_atomic(out / "adapter_model.safetensors", save(tensors, metadata={"format": "pt"}))
    write_json(out / "adapter_config.json", as_json)


def _refuse_useless(settings: TrainingSettings) -> None:
    for name in ("rank", "alpha", "epochs", "batch_size"):
        if getattr(settings, name) < 1:
            raise TrainingError(f"[training] {name} = {getattr(settings, name)} must be at least 1")
