"""Where llama.cpp keeps what transformers calls `model.layers.3.mlp.up_proj`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from cipher_nb.errors import ExportError
from cipher_nb.training.base.metadata import Metadata

_DENSE = {
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}
_FUSED = {
    "self_attn.qkv_proj": "attn_qkv",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}
TENSORS: Mapping[str, Mapping[str, str]] = {
    "llama": _DENSE,
    "qwen2": _DENSE,
    "qwen3": _DENSE,
    "gemma2": _DENSE,
    "gemma3": _DENSE,
    "phi3": _FUSED,
}
"""Per architecture, the linear layers of a block, by transformers' names, and the tensors of llama.cpp."""

_HEAD, _OUTPUT = "lm_head", "output.weight"
_NAME = re.compile(r"base_model\.model\.(?:model\.layers\.(\d+)\.)?([a-z_.]+)\.lora_([AB])\.weight")


@dataclass(frozen=True)
class Place:
    """Of one tensor of peft's: its module's whole name, its kind, its side "a" or "b", and the name in GGUF."""

    module: str
    kind: str
    side: str
    name: str


def require_known(architecture: str) -> None:
    """Raise ExportError for an architecture whose tensors are not known here."""
    if architecture not in TENSORS:
        raise ExportError(
            f"adapters of architecture {architecture!r} cannot be exported, only of {', '.join(TENSORS)}; "
            "name llama.cpp's own script in [training] convert_script"
        )


def place_of(tensor: str, base: Metadata) -> Place:
    """Return where peft's `tensor` belongs; ExportError, naming it, where llama.cpp has no place for it."""
    found, known = _NAME.fullmatch(tensor), TENSORS[base.architecture]
    layer, kind, side = found.groups() if found else (None, "", "")
    if kind == _HEAD and layer is None:
        if _OUTPUT not in base.tensors:
            raise ExportError(
                f"tensor {tensor!r} cannot be exported, for {base.path.name} has no {_OUTPUT} (its embeddings are "
                f"tied); train without {_HEAD}"
            )
        return Place(kind, kind, side.lower(), f"{_OUTPUT}.lora_{side.lower()}")
    if layer is None or kind not in known:
        raise ExportError(
            f"tensor {tensor!r} cannot be exported; of {base.architecture} only LoRA on {', '.join(known)} and "
            f"{_HEAD} can"
        )
    name = f"blk.{layer}.{known[kind]}.weight.lora_{side.lower()}"
    return Place(f"model.layers.{layer}.{kind}", kind, side.lower(), name)
