"""A tiny random llama of the same kind as the embedded model: its checkpoint, its GGUF file, and pairs to train on."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cipher_nb.training.data.pairs import Pair
from tests.tiny_models import VOCABULARY, tiny_model
from tests.training.llama_cpp_script import random_adapter

SYSTEM = "You are a careful coding assistant. Answer briefly."
LAYERS, HIDDEN, INTERMEDIATE, HEADS, KV_HEADS = 2, 64, 96, 4, 2
GGUF_NAMES = {
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}


@pytest.fixture(scope="session")
def tiny_checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A transformers checkpoint of two layers whose tokens are bytes."""
    return tiny_model("llama", tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="session")
def tiny_gguf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The numbers and tensor shapes of the tiny llama as GGUF; its weights are zeros, which nothing here looks at."""
    return write_gguf(tmp_path_factory.mktemp("tiny-gguf") / "tiny.gguf")


@pytest.fixture(scope="session")
def tiny_adapter(tiny_checkpoint: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A LoRA of all linear layers of the tiny llama (rank 8, alpha 16) with random values, as peft saves it."""
    modules = [name.split(".")[1] for name in GGUF_NAMES]
    folder = tmp_path_factory.mktemp("tiny-adapter") / "adapter"
    return random_adapter(tiny_checkpoint, folder, r=8, lora_alpha=16, target_modules=modules)


@pytest.fixture
def changed(tiny_adapter: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Return a function that copies the tiny adapter, with other values in its config."""

    def change(**values: Any) -> Path:
        copy = tmp_path_factory.mktemp("changed") / "adapter"
        shutil.copytree(tiny_adapter, copy)
        path = copy / "adapter_config.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), **values}))
        return copy

    return change


def write_gguf(path: Path, *, layers: int = LAYERS, intermediate: int = INTERMEDIATE, arch: str = "llama") -> Path:
    from gguf import GGUFWriter

    writer = GGUFWriter(path, arch)
    writer.add_block_count(layers)
    writer.add_embedding_length(HIDDEN)
    writer.add_feed_forward_length(intermediate)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV_HEADS)
    writer.add_vocab_size(VOCABULARY)
    writer.add_tensor("token_embd.weight", np.zeros((VOCABULARY, HIDDEN), np.float32))
    kv = HIDDEN * KV_HEADS // HEADS
    shapes = {
        "attn_q": (HIDDEN, HIDDEN),
        "attn_k": (kv, HIDDEN),
        "attn_v": (kv, HIDDEN),
        "attn_output": (HIDDEN, HIDDEN),
        "ffn_gate": (intermediate, HIDDEN),
        "ffn_up": (intermediate, HIDDEN),
        "ffn_down": (HIDDEN, intermediate),
    }
    for layer in range(layers):
        for name, shape in shapes.items():
            writer.add_tensor(f"blk.{layer}.{name}.weight", np.zeros(shape, np.float32))
    return close(writer, path)


def close(writer: Any, path: Path) -> Path:
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def pair(question: str, answer: str, **more: Any) -> Pair:
    messages = ({"role": "system", "content": SYSTEM}, {"role": "user", "content": question})
    return Pair(messages, answer, **more)


COMMANDS = (
    ("show the files in a folder", "ls"),
    ("print the text of a file", "cat"),
    ("move a file", "mv"),
    ("make a folder", "mkdir"),
    ("remove a file", "rm"),
    ("copy a file", "cp"),
    ("show the running processes", "ps"),
    ("search text in files", "grep"),
    ("show the current folder", "pwd"),
    ("count the lines of a file", "wc"),
    ("change the mode of a file", "chmod"),
    ("show free disk space", "df"),
)


@pytest.fixture(scope="session")
def command_pairs() -> list[Pair]:
    """Twelve short pairs on one shared system text."""
    return [pair(f"Which command is used to {what}?", name) for what, name in COMMANDS]


@pytest.fixture(scope="session")
def embedded_checkpoint(embedded_gguf: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The embedded model as a transformers checkpoint, made afresh."""
    from cipher_nb.training.base.checkpoint import checkpoint_for

    return checkpoint_for(embedded_gguf, cache=tmp_path_factory.mktemp("cache"))
