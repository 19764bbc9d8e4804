"""What is trained on: every family, the layers that are named, and numbers that the processor can compute with."""

from dataclasses import replace
from pathlib import Path

import pytest

from cipher_nb.config import TrainingSettings
from cipher_nb.errors import TrainingError
from cipher_nb.training.qlora.load import computes_in_bf16, load_base, wants_4bit, with_adapter
from cipher_nb.training.qlora.train import train
from tests.tiny_models import FAMILIES, tiny_model

SETTINGS = TrainingSettings(epochs=3, lr=1e-2, batch_size=4)


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_trains(tmp_path, command_pairs, family):
    checkpoint = tiny_model(family, tmp_path / family)
    result = train(command_pairs, checkpoint=checkpoint, settings=SETTINGS, out=tmp_path / "adapter")
    assert result.losses[-1] < result.losses[0] - 0.1


def adapted_layers(model):
    return {name.rsplit(".lora_A", 1)[0].rsplit(".", 1)[-1] for name, _ in model.named_parameters() if "lora_A" in name}


def test_the_adapter_lies_on_all_linear_layers_or_on_those_that_are_named(tiny_checkpoint):
    every = with_adapter(load_base(tiny_checkpoint, quantised=False), SETTINGS)
    assert adapted_layers(every) == {"q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"}
    named = with_adapter(load_base(tiny_checkpoint, quantised=False), replace(SETTINGS, targets=("q_proj", "v_proj")))
    assert adapted_layers(named) == {"q_proj", "v_proj"}


@pytest.mark.parametrize("target", ["qkv_proj", "lm_head", "embed_tokens"])
def test_a_target_that_no_linear_layer_is_called_is_refused_with_those_there_are(tiny_checkpoint, target):
    expected = (
        rf"\[training\] targets: no linear layer is called '{target}'; "
        "there are q_proj, k_proj, v_proj, o_proj, gate_proj, up_proj, down_proj"
    )
    with pytest.raises(TrainingError, match=expected):
        with_adapter(load_base(tiny_checkpoint, quantised=False), replace(SETTINGS, targets=(target,)))


def test_a_model_without_linear_layers_is_refused_by_name(tmp_path):
    from transformers import GPT2Config, GPT2LMHeadModel

    model = GPT2LMHeadModel(GPT2Config(n_layer=1, n_embd=8, n_head=2, vocab_size=20))
    with pytest.raises(TrainingError, match="a gpt2 model has no linear layers"):
        with_adapter(model, SETTINGS)


def test_a_mixture_of_experts_is_refused_by_name():
    from transformers import AutoConfig, AutoModelForCausalLM

    config = AutoConfig.for_model(
        "qwen3_moe",
        vocab_size=20,
        hidden_size=8,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=4,
        num_experts=2,
        num_experts_per_tok=1,
        moe_intermediate_size=8,
    )
    with pytest.raises(TrainingError, match="qwen3_moe is a mixture of experts"):
        with_adapter(AutoModelForCausalLM.from_config(config), SETTINGS)


@pytest.mark.parametrize(
    ("flags", "answer"),
    [("fpu avx512f avx512_bf16", True), ("fpu amx_bf16", True), ("fpu avx2 avx512f avx512_vnni", False), ("", False)],
)
def test_bfloat16_is_computed_only_with_instructions_for_it(flags, answer):
    assert computes_in_bf16(flags.split()) is answer


def test_only_a_quantised_base_is_computed_in_bfloat16_on_a_cpu(tiny_checkpoint):
    import torch

    lines = Path("/proc/cpuinfo").read_text().splitlines()
    flags = next(line for line in lines if line.startswith("flags")).split()
    expected = torch.bfloat16 if {"avx512_bf16", "amx_bf16"} & set(flags) else torch.float32
    assert load_base(tiny_checkpoint, quantised=True).dtype == expected
    assert load_base(tiny_checkpoint, quantised=False).dtype == torch.float32


def test_auto_quantises_a_base_of_over_a_billion_parameters(tmp_path, tiny_checkpoint):
    from transformers import LlamaConfig

    LlamaConfig(hidden_size=2048, num_hidden_layers=24, intermediate_size=5632, vocab_size=32_000).save_pretrained(
        tmp_path
    )
    assert wants_4bit(tmp_path, SETTINGS) is True
    assert wants_4bit(tiny_checkpoint, SETTINGS) is False
    assert wants_4bit(tmp_path, replace(SETTINGS, load_in_4bit="no")) is False
    assert wants_4bit(tiny_checkpoint, replace(SETTINGS, load_in_4bit="yes")) is True
