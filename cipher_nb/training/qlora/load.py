"""The base as it is trained on: its kind of numbers, its device, and the adapter on its layers."""

from __future__ import annotations

import warnings
from collections.abc import Collection
from pathlib import Path
from typing import Any

from cipher_nb.config import TrainingSettings
from cipher_nb.errors import TrainingError

QUANTISED_ABOVE = 1_000_000_000
BF16_FLAGS = frozenset({"avx512_bf16", "amx_bf16"})
"""With one of these a processor computes in bfloat16; without, it only imitates that, 12 to 20 times slower."""


def wants_4bit(checkpoint: Path, settings: TrainingSettings) -> bool:
    """Return whether the base is to be loaded as NF4: as set, or by its size where the setting is "auto"."""
    if settings.load_in_4bit != "auto":
        return settings.load_in_4bit == "yes"
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    with torch.device("meta"):
        empty = AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(checkpoint, local_files_only=True))
    return bool(empty.num_parameters() > QUANTISED_ABOVE)


def load_base(checkpoint: Path, *, quantised: bool, gpu: int = 0) -> Any:
    """Return the checkpoint's causal model, on the GPU of that number where there is one; NF4 if `quantised`.

    NF4 has double quantisation. A GPU computes in bfloat16 where it can. A CPU computes in float32, so that what trains
    is what serves; in NF4, in bfloat16 where it has the instructions.
    """
    import torch
    from transformers import AutoModelForCausalLM, BitsAndBytesConfig

    device = f"cuda:{gpu}" if torch.cuda.is_available() else "cpu"
    dtype = _number_type(on_gpu=device != "cpu", quantised=quantised)
    options: dict[str, Any] = {"dtype": dtype, "local_files_only": True}
    if quantised:
        options["quantization_config"] = BitsAndBytesConfig(
            load_in_4bit=True,
            bnb_4bit_quant_type="nf4",
            bnb_4bit_use_double_quant=True,
            bnb_4bit_compute_dtype=dtype,
        )
    try:
        return AutoModelForCausalLM.from_pretrained(checkpoint, device_map={"": device}, **options)
    except (OSError, ValueError) as error:
        raise TrainingError(f"{checkpoint} cannot be loaded as a transformers checkpoint ({error})") from error


def with_adapter(base: Any, settings: TrainingSettings) -> Any:
    """Return `base` frozen, with a fresh adapter on the linear layers that [training] targets names: all, if none.

    Raises TrainingError for a name that no linear layer has, and for a base that peft cannot put an adapter on.
    """
    from peft import LoraConfig, get_peft_model

    _refuse_experts(base.config)
    _refuse_unknown_targets(base, settings.targets)
    config = LoraConfig(
        r=settings.rank,
        lora_alpha=settings.alpha,
        target_modules=list(settings.targets) or "all-linear",
        bias="none",
        task_type="CAUSAL_LM",
    )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # peft asks transformers by an old name
            return get_peft_model(base, config)
    except (ValueError, NotImplementedError) as error:
        raise TrainingError(f"peft cannot put an adapter on a {base.config.model_type} model ({error})") from error


def computes_in_bf16(flags: Collection[str]) -> bool:
    """Tell whether a processor with these flags of /proc/cpuinfo has instructions for bfloat16."""
    return not BF16_FLAGS.isdisjoint(flags)


def _number_type(*, on_gpu: bool, quantised: bool) -> Any:
    import torch

    if on_gpu:
        return torch.bfloat16 if torch.cuda.is_bf16_supported() else torch.float32
    return torch.bfloat16 if quantised and computes_in_bf16(_cpu_flags()) else torch.float32


def _cpu_flags() -> list[str]:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return []
    return next((line.split(":", 1)[1].split() for line in lines if line.startswith("flags")), [])


def _refuse_experts(config: Any) -> None:
    # their weights are one block per layer and no linear layers: peft would pass over them without a word
    if any(getattr(config, name, None) for name in ("num_experts", "num_local_experts", "n_routed_experts")):
        raise TrainingError(f"{config.model_type} is a mixture of experts, and only dense models can be trained")


def _refuse_unknown_targets(base: Any, targets: Collection[str]) -> None:
    import torch

    output = base.get_output_embeddings()
    linear = [
        name.rsplit(".", 1)[-1]
        for name, module in base.named_modules()
        if isinstance(module, torch.nn.Linear) and module is not output
    ]
    if not linear:
        raise TrainingError(f"a {base.config.model_type} model has no linear layers that peft could put an adapter on")
    for target in targets:
        if target not in linear:
            known = ", ".join(dict.fromkeys(linear))
            raise TrainingError(f"[training] targets: no linear layer is called {target!r}; there are {known}")
