"""What peft's adapter_config.json says about the scale of an adapter, and what in it GGUF cannot hold."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cipher_nb.errors import ExportError
from cipher_nb.files import read_json

_ORIGIN = ("task_type", "peft_type", "auto_mapping", "peft_version", "base_model_name_or_path", "revision")
_SCALE = ("r", "lora_alpha", "use_rslora", "rank_pattern", "alpha_pattern", "lora_dropout", "bias", "init_lora_weights")
_PLACE = ("target_modules", "exclude_modules", "layers_to_transform", "layers_pattern")
_UNUSED_DEFAULTS = ("inference_mode", "megatron_core", "qalora_group_size")
_NEUTRAL = {*_ORIGIN, *_SCALE, *_PLACE, *_UNUSED_DEFAULTS}
_PLAIN_STARTS = (True, False, None, "gaussian", "orthogonal")
_SPOKEN = {
    "use_dora": "DoRA",
    "lora_bias": "biases (lora_bias)",
    "modules_to_save": "whole modules (modules_to_save)",
    "trainable_token_indices": "trained tokens (trainable_token_indices)",
    "layer_replication": "repeated layers (layer_replication)",
    "target_parameters": "LoRA on bare parameters (target_parameters)",
}


@dataclass(frozen=True)
class PeftConfig:
    """`alpha_pattern` maps regular expressions of module names to an alpha of their own."""

    rank: int
    alpha: float
    rank_stabilised: bool = False
    alpha_pattern: Mapping[str, float] = field(default_factory=dict)
    rank_pattern: Mapping[str, int] = field(default_factory=dict)

    @property
    def written_alpha(self) -> float:
        """The alpha that makes llama.cpp, which scales by alpha / rank, scale as peft does."""
        return self._effective(self.alpha, self.rank)

    def factor(self, module: str, *, rank: int) -> float:
        """Return what B of this module is to be multiplied with, besides: 1.0 where it has nothing of its own."""
        own = (alpha for pattern, alpha in self.alpha_pattern.items() if re.match(rf"(.*\.)?({pattern})$", module))
        return self._effective(float(next(own, self.alpha)), rank) / self.written_alpha

    def _effective(self, alpha: float, rank: int) -> float:
        return alpha * math.sqrt(rank) if self.rank_stabilised else alpha


def read_config(adapter_dir: Path) -> PeftConfig:
    """Return the adapter's config; ExportError names what GGUF cannot hold, and the way out."""
    path = adapter_dir / "adapter_config.json"
    if not path.is_file():
        raise ExportError(f"{adapter_dir} holds no adapter_config.json; train first")
    config = read_json(path)
    if not isinstance(config, dict):
        raise ExportError(f"{path} is no peft config; train again")
    _refuse_unknown(config, path)
    return PeftConfig(
        rank=int(_positive(config, "r", path)),
        alpha=_positive(config, "lora_alpha", path),
        rank_stabilised=bool(config.get("use_rslora")),
        alpha_pattern=config.get("alpha_pattern") or {},
        rank_pattern=config.get("rank_pattern") or {},
    )


def _refuse_unknown(config: Mapping[str, Any], path: Path) -> None:
    if config.get("peft_type") != "LORA":
        raise ExportError(f"{path}: peft_type {config.get('peft_type')!r} cannot be exported; only LORA can")
    if config.get("bias", "none") != "none":
        raise ExportError(f"{path}: bias = {config['bias']!r} cannot be exported; train with bias = 'none'")
    start = config.get("init_lora_weights", True)
    if start not in _PLAIN_STARTS:
        raise ExportError(
            f"{path}: init_lora_weights = {start!r} cannot be exported, for the base may have changed with it; "
            "train with init_lora_weights = true"
        )
    for name, value in config.items():
        if value and name not in _NEUTRAL:
            spoken = _SPOKEN.get(name, name)
            raise ExportError(
                f"{path}: {spoken} cannot be exported, for GGUF holds plain LoRA only; train without {name}"
            )


def _positive(config: Mapping[str, Any], name: str, path: Path) -> float:
    value = config.get(name)
    if not isinstance(value, int | float) or not 0 < value < math.inf:
        raise ExportError(f"{path}: {name} = {value!r} must be a number above 0; train again")
    return float(value)
