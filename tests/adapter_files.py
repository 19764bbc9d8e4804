"""Adapters made of random numbers: real GGUF files that change a model's answers, in no useful way."""

from __future__ import annotations

from pathlib import Path

import numpy as np


def write_adapter(path: Path, *, name: str, seed: int) -> Path:
    """Write an adapter for the embedded model that calls itself `name`, and return its path."""
    from gguf import GGUFWriter

    random = np.random.default_rng(seed)
    path.parent.mkdir(parents=True, exist_ok=True)
    writer = GGUFWriter(path, "llama")
    writer.add_type("adapter")
    writer.add_string("adapter.type", "lora")
    writer.add_string("adapter.lora.task_name", name)
    writer.add_float32("adapter.lora.alpha", 16.0)
    for layer in range(30):
        down = random.normal(0, 0.1, (8, 576)).astype(np.float32)
        up = random.normal(0, 0.1, (1536, 8)).astype(np.float32)
        writer.add_tensor(f"blk.{layer}.ffn_up.weight.lora_a", down)
        writer.add_tensor(f"blk.{layer}.ffn_up.weight.lora_b", up)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path
