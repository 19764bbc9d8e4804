"""Copies of a model's GGUF file for comparisons: its weights in float32, and an adapter merged into them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

ALL_F32 = 0
"""llama.cpp's own number for a file whose weights are all float32."""


def unquantised(gguf: Path, path: Path, *, adapter: Path | None = None) -> Path:
    """Write `gguf` with float32 weights to `path`, with `adapter` merged into them where one is given."""
    from gguf import GGUFReader, GGUFValueType, GGUFWriter, dequantize

    reader = GGUFReader(gguf)
    added = _products(adapter) if adapter else {}
    writer = GGUFWriter(path, str(reader.fields["general.architecture"].contents()))
    for name, field in reader.fields.items():
        if name.startswith("GGUF.") or name == "general.architecture":
            continue
        kind, element = field.types[0], field.types[-1] if field.types[0] is GGUFValueType.ARRAY else None
        value = ALL_F32 if name == "general.file_type" else field.contents()
        writer.add_key_value(name, value, kind, element)
    for tensor in reader.tensors:
        weight = dequantize(tensor.data, tensor.tensor_type).astype(np.float32)
        shape = tuple(int(size) for size in reversed(tensor.shape))
        writer.add_tensor(tensor.name, weight.reshape(shape) + added.pop(tensor.name, np.float32(0)))
    assert not added, f"{adapter} adapts what {gguf} does not have: {sorted(added)}"
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _products(adapter: Path) -> dict[str, Any]:
    """Return what the adapter adds to each weight: alpha / rank times B A, in float32."""
    from gguf import GGUFReader

    reader = GGUFReader(adapter)
    alpha = float(reader.fields["adapter.lora.alpha"].contents())
    sides = {tensor.name: np.asarray(tensor.data) for tensor in reader.tensors}
    return {
        name.removesuffix(".lora_a"): np.float32(alpha / down.shape[0]) * (sides[name[:-1] + "b"] @ down)
        for name, down in sides.items()
        if name.endswith(".lora_a")
    }
