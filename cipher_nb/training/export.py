"""From peft's adapter folder to the GGUF file that llama.cpp loads."""

from __future__ import annotations

import hashlib
import math
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cipher_nb.errors import ExportError
from cipher_nb.files import read_json, sha256_of, sync_folder
from cipher_nb.training.compat import check_adapter
from cipher_nb.training.metadata import Metadata, read_metadata

LLAMA_TENSORS = {
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}

_TENSOR = re.compile(r"base_model\.model\.(model\.layers\.(\d+)\.([a-z_.]+))\.lora_([AB])\.weight")
_ORIGIN = ("task_type", "peft_type", "auto_mapping", "peft_version", "base_model_name_or_path", "revision")
_SCALE = ("r", "lora_alpha", "use_rslora", "rank_pattern", "alpha_pattern", "lora_dropout", "bias", "init_lora_weights")
_PLACE = ("target_modules", "exclude_modules", "layers_to_transform", "layers_pattern")
_UNUSED_DEFAULTS = ("inference_mode", "megatron_core", "qalora_group_size")
_NEUTRAL = {*_ORIGIN, *_SCALE, *_PLACE, *_UNUSED_DEFAULTS}
_PLAIN_STARTS = (True, False, None, "gaussian", "orthogonal")
_SPOKEN = {"use_dora": "DoRA", "lora_bias": "biases (lora_bias)"}


@dataclass(frozen=True)
class Exported:
    """The adapter's id, which stands in the file as `adapter.lora.task_name`, and the file."""

    id: str
    path: Path


def export_adapter(adapter_dir: Path, *, base_gguf: Path, out_dir: Path) -> Exported:
    """Write `<id>.gguf` to `out_dir` (atomically, in float32) and return it; the same adapter gives the same file.

    The id is the start of a SHA-256 over base, alpha and tensors. Raises ExportError, naming it, for anything that GGUF
    cannot hold, and IncompatibleAdapterError when the adapter was not trained on this base.
    """
    base = read_metadata(base_gguf)
    if base.architecture != "llama":
        raise ExportError(f"adapters of architecture {base.architecture!r} cannot be exported yet; only 'llama' can")
    config = _read_config(adapter_dir)
    alpha = _written_alpha(config)
    tensors = _tensors(_read_weights(adapter_dir), config, base, alpha=alpha)
    base_sha256 = sha256_of(base_gguf)
    adapter_id = _identify(base_sha256, alpha, tensors)
    out_dir.mkdir(parents=True, exist_ok=True)
    path = out_dir / f"{adapter_id}.gguf"
    scratch = out_dir / f".{adapter_id}.gguf.tmp"
    try:
        _write(scratch, adapter_id, alpha, tensors, base=base, base_sha256=base_sha256)
        check_adapter(scratch, base_gguf)
        scratch.replace(path)
    finally:
        scratch.unlink(missing_ok=True)
    sync_folder(out_dir)
    return Exported(adapter_id, path)


def _read_config(adapter_dir: Path) -> dict[str, Any]:
    path = adapter_dir / "adapter_config.json"
    if not path.is_file():
        raise ExportError(f"{adapter_dir} holds no adapter_config.json; train first")
    config: dict[str, Any] = read_json(path)
    _refuse_unknown(config, path)
    return config


def _refuse_unknown(config: Mapping[str, Any], path: Path) -> None:
    if config.get("peft_type") != "LORA":
        raise ExportError(f"{path}: peft_type {config.get('peft_type')!r} cannot be exported; only LORA can")
    if config.get("bias", "none") != "none":
        raise ExportError(f"{path}: bias = {config['bias']!r} cannot be exported; train with bias = 'none'")
    start = config.get("init_lora_weights", True)
    if start not in _PLAIN_STARTS:
        raise ExportError(f"{path}: init_lora_weights = {start!r} changes the base and cannot be exported")
    for name, value in config.items():
        if value and name not in _NEUTRAL:
            raise ExportError(f"{path}: {_SPOKEN.get(name, name)} cannot be exported; GGUF holds plain LoRA only")


def _read_weights(adapter_dir: Path) -> dict[str, Any]:
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    path = adapter_dir / "adapter_model.safetensors"
    try:
        return dict(load_file(path))
    except (OSError, SafetensorError) as error:
        raise ExportError(f"{path} cannot be read ({error}); train again") from error


def _written_alpha(config: Mapping[str, Any]) -> float:
    # llama.cpp scales by alpha / rank, rank-stabilised LoRA by alpha / sqrt(rank)
    return float(config["lora_alpha"] * (math.sqrt(config["r"]) if config.get("use_rslora") else 1))


def _tensors(weights: Mapping[str, Any], config: Mapping[str, Any], base: Metadata, *, alpha: float) -> dict[str, Any]:
    """Return GGUF names and float32 arrays: A as it is, B scaled and permuted as llama.cpp expects it."""
    import numpy as np

    tensors = {}
    for name, weight in weights.items():
        found = _TENSOR.fullmatch(name)
        if not found or found[3] not in LLAMA_TENSORS:
            raise ExportError(f"tensor {name!r} cannot be exported; only LoRA on {', '.join(LLAMA_TENSORS)} can")
        module, layer, kind, side = found.groups()
        array = np.asarray(weight, dtype=np.float32)
        if side == "B":
            array = array * np.float32(_scale(module, array.shape[1], config) * array.shape[1] / alpha)
            array = _permuted(array, kind, base)
        tensors[f"blk.{layer}.{LLAMA_TENSORS[kind]}.weight.lora_{side.lower()}"] = np.ascontiguousarray(array)
    return dict(sorted(tensors.items()))


def _scale(module: str, rank: int, config: Mapping[str, Any]) -> float:
    """Return the factor that peft applies to B @ A of this module."""
    patterns: Mapping[str, float] = config.get("alpha_pattern") or {}
    own = (alpha for pattern, alpha in patterns.items() if re.match(rf"(.*\.)?({pattern})$", module))
    alpha = float(next(own, config["lora_alpha"]))
    return alpha / math.sqrt(rank) if config.get("use_rslora") else alpha / rank


def _permuted(rows: Any, kind: str, base: Metadata) -> Any:
    """Reorder the rows of q and k: transformers rotates the halves of a head, llama.cpp neighbouring rows."""
    heads = {"self_attn.q_proj": base.heads, "self_attn.k_proj": base.kv_heads}.get(kind)
    if heads is None:
        return rows
    if rows.shape[0] % (2 * heads):
        raise ExportError(f"{kind} has {rows.shape[0]} rows, which {heads} heads of {base.path.name} do not divide")
    return rows.reshape(heads, 2, -1, rows.shape[1]).swapaxes(1, 2).reshape(rows.shape)


def _identify(base_sha256: str, alpha: float, tensors: Mapping[str, Any]) -> str:
    digest = hashlib.sha256(f"{base_sha256} {alpha!r}".encode())
    for name, array in tensors.items():
        digest.update(f"{name} {array.shape}".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()[:12]


def _write(
    path: Path, adapter_id: str, alpha: float, tensors: Mapping[str, Any], *, base: Metadata, base_sha256: str
) -> None:
    """The sizes and the base's hash are keys of ours; llama.cpp passes over them, `check_adapter` reads them."""
    from gguf import GGUFWriter

    writer = GGUFWriter(path, base.architecture)
    writer.add_string("general.type", "adapter")
    writer.add_string("adapter.type", "lora")
    writer.add_float32("adapter.lora.alpha", alpha)
    writer.add_string("adapter.lora.task_name", adapter_id)
    writer.add_string("cipher_nb.base_sha256", base_sha256)
    writer.add_block_count(base.layers)
    writer.add_embedding_length(base.hidden_size)
    writer.add_feed_forward_length(base.intermediate_size)
    writer.add_vocab_size(base.vocabulary)
    for name, array in tensors.items():
        writer.add_tensor(name, array)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    with path.open("rb") as file:
        os.fsync(file.fileno())
