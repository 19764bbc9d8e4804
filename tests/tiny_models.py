"""Random tiny models of every family that can be trained: real transformers checkpoints whose tokens are bytes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

FAMILIES = ("llama", "qwen2", "qwen3", "gemma2", "gemma3", "phi3")
SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
VOCABULARY = 256 + len(SPECIAL)
TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
_MODEL_TYPES = {"gemma3": "gemma3_text"}
_CONFIG_NAMES = {
    "layers": "num_hidden_layers",
    "hidden": "hidden_size",
    "intermediate": "intermediate_size",
    "heads": "num_attention_heads",
    "kv_heads": "num_key_value_heads",
    "tied": "tie_word_embeddings",
}


def tiny_model(arch: str, folder: Path, *, seed: int = 7, **sizes: Any) -> Path:
    """Save a random model of `arch` (one of FAMILIES) with a byte tokenizer to `folder`, and return the folder.

    Sizes: layers 2, hidden 64, intermediate 96, heads 4, kv_heads 2, head_dim hidden / heads, tied True; any other
    name is one of the family's transformers config. The same call gives the same weights.
    """
    from cipher_nb.training.libraries import prepare_libraries

    prepare_libraries()
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    values = {"layers": 2, "hidden": 64, "intermediate": 96, "heads": 4, "kv_heads": 2, "tied": True, **sizes}
    values.setdefault("head_dim", values["hidden"] // values["heads"])
    config = AutoConfig.for_model(
        _MODEL_TYPES.get(arch, arch),
        vocab_size=VOCABULARY,
        bos_token_id=1,
        eos_token_id=2,
        pad_token_id=2,
        **{_CONFIG_NAMES.get(name, name): value for name, value in values.items()},
    )
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        AutoModelForCausalLM.from_config(config).save_pretrained(folder)
    byte_tokenizer().save_pretrained(folder)
    return folder


def byte_tokenizer() -> Any:
    """A tokenizer without merges: three special tokens, then one token per byte."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {token: number for number, token in enumerate([*SPECIAL, *alphabet])}
    backend = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    unknown, start, end = SPECIAL
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=backend, bos_token=start, eos_token=end, unk_token=unknown, pad_token=end
    )
    tokenizer.chat_template = TEMPLATE
    return tokenizer
