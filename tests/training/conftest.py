"""A tiny random llama of the same kind as the embedded model: its checkpoint, its GGUF file, and pairs to train on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cipher_nb.training.libraries import prepare_libraries
from cipher_nb.training.pairs import Pair

SYSTEM = "You are a careful coding assistant. Answer briefly."
TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
LAYERS, HIDDEN, INTERMEDIATE, HEADS, KV_HEADS, VOCABULARY = 2, 64, 96, 4, 2, 259
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
    prepare_libraries()
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    folder = tmp_path_factory.mktemp("tiny")
    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {token: number for number, token in enumerate([*special, *alphabet])}
    backend = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=backend, bos_token=special[1], eos_token=special[2], unk_token=special[0], pad_token=special[2]
    )
    tokenizer.chat_template = TEMPLATE
    tokenizer.save_pretrained(folder)
    torch.manual_seed(7)
    config = LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=HIDDEN,
        intermediate_size=INTERMEDIATE,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        num_key_value_heads=KV_HEADS,
        tie_word_embeddings=True,
        bos_token_id=1,
        eos_token_id=2,
    )
    LlamaForCausalLM(config).save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def tiny_gguf(tiny_checkpoint: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The numbers and tensor shapes of the tiny llama as GGUF; its weights are zeros, which nothing here looks at."""
    return write_gguf(tmp_path_factory.mktemp("tiny-gguf") / "tiny.gguf")


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
    from cipher_nb.training.base import checkpoint_for

    return checkpoint_for(embedded_gguf, cache=tmp_path_factory.mktemp("cache"))
