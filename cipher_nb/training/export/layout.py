"""peft's matrices as llama.cpp wants them: named, scaled, the rows of q and k in its order."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from cipher_nb.errors import ExportError
from cipher_nb.training.base.metadata import Metadata
from cipher_nb.training.export.config import PeftConfig
from cipher_nb.training.export.names import Place, place_of, require_known

Dtype = Literal["f32", "f16"]
Tensors = Mapping[str, Any]
"""GGUF names and numpy arrays, in the order of the names."""

_FROZEN = ".base_layer.weight"


def read_weights(adapter_dir: Path) -> dict[str, Any]:
    """Return peft's tensors, without the frozen copy of the output that it saves beside an adapter of it.

    Raises ExportError when they cannot be read.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    path = adapter_dir / "adapter_model.safetensors"
    try:
        return {name: weight for name, weight in load_file(path).items() if not name.endswith(_FROZEN)}
    except TypeError as error:
        raise ExportError(f"{path} holds values that numpy lacks ({error}); save the adapter in float32") from error
    except (OSError, SafetensorError) as error:
        raise ExportError(f"{path} cannot be read ({error}); train again") from error


def lay_out(weights: Mapping[str, Any], config: PeftConfig, base: Metadata, *, dtype: Dtype) -> Tensors:
    """Return the adapter's tensors for `base`: A as it is, B scaled and permuted; ExportError for what has no place."""
    import numpy as np

    require_known(base.architecture)
    tensors = {}
    for name, weight in weights.items():
        place = place_of(name, base)
        array = np.asarray(weight, dtype=np.float32)
        if array.ndim != 2:
            raise ExportError(f"tensor {name!r} has the shape {array.shape} and must be a matrix; train again")
        if place.side == "b":
            array = _permuted(_scaled(array, config.factor(place.module, rank=array.shape[1])), place, base)
        tensors[place.name] = np.ascontiguousarray(_narrowed(array, name) if dtype == "f16" else array)
    return dict(sorted(tensors.items()))


def _scaled(rows: Any, factor: float) -> Any:
    import numpy as np

    return rows if factor == 1.0 else rows * np.float32(factor)


def _permuted(rows: Any, place: Place, base: Metadata) -> Any:
    """transformers rotates the halves of a head; llama.cpp's llama, unlike the others, neighbouring rows."""
    heads = {"self_attn.q_proj": base.heads, "self_attn.k_proj": base.kv_heads}.get(place.kind)
    if heads is None or base.architecture != "llama":
        return rows
    if heads == 0 or rows.shape[0] % (2 * heads):
        raise ExportError(
            f"{place.kind} has {rows.shape[0]} rows, which {heads} heads of {base.path.name} do not divide"
        )
    return rows.reshape(heads, 2, -1, rows.shape[1]).swapaxes(1, 2).reshape(rows.shape)


def _narrowed(array: Any, name: str) -> Any:
    import numpy as np

    with np.errstate(over="ignore"):
        narrow = array.astype(np.float16)
    if np.isinf(narrow).any() and np.isfinite(array).all():
        raise ExportError(f"tensor {name!r} reaches {np.abs(array).max():g}, float16 only 65504; export it as f32")
    return narrow
