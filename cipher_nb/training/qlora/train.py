"""QLoRA, read top to bottom: encode, load, attach, run the steps, save."""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from cipher_nb.config import TrainingSettings, training_problem
from cipher_nb.errors import ConfigError, TrainingError
from cipher_nb.files import sync_folder
from cipher_nb.training.data.pairs import Pair
from cipher_nb.training.gradients.batches import Sample
from cipher_nb.training.gradients.memory import Plan, plan_memory, turn_on_checkpointing
from cipher_nb.training.libraries import prepare_libraries
from cipher_nb.training.qlora.load import load_base, wants_4bit, with_adapter
from cipher_nb.training.qlora.loop import Keep, Ran, Step, run_steps
from cipher_nb.training.qlora.material import Material, material_of
from cipher_nb.training.qlora.processes import Processes
from cipher_nb.training.qlora.shortages import memory_errors_named, write_whole
from cipher_nb.training.qlora.state import fingerprint
from cipher_nb.training.qlora.tokens import load_tokenizer

KEEP_EVERY_S = 60.0


@dataclass(frozen=True)
class Trained:
    """What came of it. `losses` is one per step, `pair_ids` those trained on, `dropped_long` how many were too long.

    `tokens` and `seconds` are those of all steps; the run went on after step `resumed_at`, 0 where it began afresh.
    `computed_in` names device and kind of numbers. A run that was stopped has written nothing to `adapter_dir`.
    """

    adapter_dir: Path
    steps: int
    losses: tuple[float, ...]
    tokens: int
    seconds: float
    quantised: bool
    computed_in: str
    pair_ids: tuple[str, ...]
    dropped_long: int
    stopped: bool
    resumed_at: int
    notes: tuple[str, ...]


def train(
    pairs: Sequence[Pair],
    *,
    checkpoint: Path,
    settings: TrainingSettings,
    out: Path,
    on_step: Callable[[Step], None] | None = None,
    should_stop: Callable[[], bool] | None = None,
    keep_in: Path | None = None,
    keep_every_s: float = KEEP_EVERY_S,
    processes: Processes | None = None,
) -> Trained:
    """Train a LoRA adapter on `pairs` and write it to the folder `out`, as peft does: whole, or not at all.

    AdamW without weight decay. A step's loss is the mean over the response tokens of its `batch_size` pairs, the end of
    turn among them; how rejected pairs change that is told in `kto`. The same pairs, settings and machine give the same
    bytes, also when the run was killed or stopped and goes on from the folder `keep_in`. `should_stop` is asked before
    every micro-batch.

    Raises ConfigError for settings that train nothing, TrainingError when nothing can be trained on, memory or disk
    run out, or the loss is not a number.
    """
    if problem := training_problem(settings):
        raise ConfigError(problem)
    prepare_libraries()
    import torch

    material = material_of(pairs, load_tokenizer(checkpoint), settings)
    if not material.samples:
        raise TrainingError(f"none of {len(pairs)} pairs fits max_tokens = {settings.max_tokens}; nothing to train on")
    processes = processes or Processes()
    with torch.random.fork_rng(), memory_errors_named(settings):
        torch.manual_seed(settings.seed)
        quantised = wants_4bit(checkpoint, settings)
        model = with_adapter(load_base(checkpoint, quantised=quantised, gpu=processes.gpu), settings)
        plan = _planned(model.get_base_model(), material.everything, settings)
        tokens = processes.least(plan.micro_batch_tokens)
        where = _computed_in(model)
        made_of = fingerprint(material.everything, settings, checkpoint, f"{where}, processes: {processes.count}")
        ran = run_steps(
            model,
            material.samples,
            settings,
            gradients=material.gradients(model, max_tokens=tokens, should_stop=should_stop),
            micro_batch_tokens=tokens,
            processes=processes,
            keep=Keep(keep_in, made_of, keep_every_s) if keep_in else None,
            on_step=on_step,
        )
    if processes.leads and not ran.stopped:
        _save(model, out)
    return _trained(ran, material, out=out, quantised=quantised, computed_in=where, notes=plan.notes)


def _planned(causal_lm: Any, samples: Sequence[Sample], settings: TrainingSettings) -> Plan:
    plan = plan_memory(causal_lm, longest=max(len(sample.tokens) for sample in samples), settings=settings)
    if plan.checkpointing:
        turn_on_checkpointing(causal_lm)
    return plan


def _computed_in(model: Any) -> str:
    return f"{model.dtype}".removeprefix("torch.") + f" on {model.device.type}"


def _trained(
    ran: Ran, material: Material, *, out: Path, quantised: bool, computed_in: str, notes: tuple[str, ...]
) -> Trained:
    unused = (f"an earlier state of the run was not gone on with: {ran.unused}",) if ran.unused else ()
    return Trained(
        adapter_dir=out,
        steps=len(ran.state.losses),
        losses=ran.state.losses,
        tokens=ran.state.tokens,
        seconds=ran.state.seconds,
        quantised=quantised,
        computed_in=computed_in,
        pair_ids=material.pair_ids,
        dropped_long=material.dropped_long,
        stopped=ran.stopped,
        resumed_at=ran.resumed_at,
        notes=(*material.notes, *notes, *unused),
    )


def _save(model: Any, out: Path) -> None:
    """Write what peft's `save_pretrained` does, but the same bytes each time and without a local path."""
    from peft import get_peft_model_state_dict
    from safetensors.torch import save

    tensors = {name: weight.contiguous().cpu() for name, weight in get_peft_model_state_dict(model).items()}
    config = dataclasses.replace(model.peft_config["default"], base_model_name_or_path=None, inference_mode=True)
    as_json = {key: sorted(value) if isinstance(value, set) else value for key, value in config.to_dict().items()}
    scratch = out.with_name(f".{out.name}.tmp")
    shutil.rmtree(scratch, ignore_errors=True)
    try:
        write_whole(scratch / "adapter_model.safetensors", save(tensors, metadata={"format": "pt"}))
        write_whole(scratch / "adapter_config.json", orjson.dumps(as_json, option=orjson.OPT_INDENT_2))
        shutil.rmtree(out, ignore_errors=True)
        scratch.rename(out)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    sync_folder(out.parent)
