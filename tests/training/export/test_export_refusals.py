import numpy as np
import pytest

from cipher_nb.errors import CipherError, ExportError
from cipher_nb.training.export import export_adapter
from tests.training.conftest import HIDDEN, write_gguf
from tests.training.llama_cpp_script import add_weights, weights_of


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ({"use_dora": True}, "DoRA cannot be exported, for GGUF holds plain LoRA only; train without use_dora"),
        ({"modules_to_save": ["lm_head"]}, r"whole modules \(modules_to_save\) cannot be exported"),
        ({"trainable_token_indices": [1]}, r"trained tokens \(trainable_token_indices\) cannot be exported"),
        ({"layer_replication": [[0, 2]]}, r"repeated layers \(layer_replication\) cannot be exported"),
        ({"target_parameters": ["mlp.up"]}, r"LoRA on bare parameters \(target_parameters\) cannot be exported"),
        ({"bias": "all"}, "bias = 'all' cannot be exported; train with bias = 'none'"),
        ({"lora_bias": True}, r"biases \(lora_bias\) cannot be exported"),
        ({"loftq_config": {"loftq_bits": 4}}, "loftq_config cannot be exported"),
        ({"alora_invocation_tokens": [1]}, "alora_invocation_tokens cannot be exported"),
        ({"use_tomorrows_feature": 3}, "use_tomorrows_feature cannot be exported"),
        ({"peft_type": "IA3"}, "peft_type 'IA3' cannot be exported; only LORA can"),
        ({"peft_type": None}, "peft_type None cannot be exported; only LORA can"),
        ({"r": 0}, "r = 0 must be a number above 0"),
        ({"lora_alpha": 0}, "lora_alpha = 0 must be a number above 0"),
        ({"lora_alpha": "16"}, "lora_alpha = '16' must be a number above 0"),
    ],
)
def test_what_gguf_cannot_hold_is_refused_by_name(tmp_path, changed, tiny_gguf, values, named):
    with pytest.raises(ExportError, match=named):
        export_adapter(changed(**values), base_gguf=tiny_gguf, out_dir=tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("start", ["pissa", "pissa_niter_4", "olora", "eva", "loftq", "corda", "mica", "lora_ga"])
def test_a_start_that_may_have_changed_the_base_is_refused_by_name(tmp_path, changed, tiny_gguf, start):
    with pytest.raises(ExportError, match=f"init_lora_weights = '{start}' .*; train with init_lora_weights = true"):
        export_adapter(changed(init_lora_weights=start), base_gguf=tiny_gguf, out_dir=tmp_path)


@pytest.mark.parametrize("start", [True, False, "gaussian", "orthogonal"])
def test_a_plain_start_is_exported(tmp_path, changed, tiny_gguf, start):
    assert export_adapter(changed(init_lora_weights=start), base_gguf=tiny_gguf, out_dir=tmp_path).path.is_file()


@pytest.mark.parametrize(
    ("tensor", "named"),
    [
        ("base_model.model.model.layers.0.mlp.experts.lora_A.weight", "of llama only LoRA on self_attn.q_proj, "),
        ("base_model.model.model.layers.0.self_attn.qkv_proj.lora_A.weight", "of llama only LoRA on "),
        ("base_model.model.model.layers.0.mlp.up_proj.lora_magnitude_vector", "of llama only LoRA on "),
        ("base_model.model.model.embed_tokens.lora_embedding_A", "of llama only LoRA on "),
        ("base_model.model.lm_head.lora_A.weight", "base.gguf has no output.weight .*; train without lm_head"),
    ],
)
def test_a_tensor_without_a_place_is_refused_by_name(tmp_path, changed, tensor, named):
    adapter, base = changed(), write_gguf(tmp_path / "base.gguf")
    add_weights(adapter, {tensor: np.zeros((8, HIDDEN), np.float32)})
    with pytest.raises(ExportError, match=rf"tensor '{tensor}' cannot be exported.* {named}"):
        export_adapter(adapter, base_gguf=base, out_dir=tmp_path / "out")


def test_a_tensor_that_is_no_matrix_is_refused_by_name(tmp_path, changed, tiny_gguf):
    adapter = changed()
    name = next(iter(weights_of(adapter)))
    add_weights(adapter, {name: np.zeros(8, np.float32)})
    with pytest.raises(ExportError, match=rf"'{name}' has the shape \(8,\) and must be a matrix"):
        export_adapter(adapter, base_gguf=tiny_gguf, out_dir=tmp_path)


def test_an_unknown_architecture_is_refused_by_name(tmp_path, changed):
    base = write_gguf(tmp_path / "base.gguf", arch="mamba")
    with pytest.raises(
        ExportError, match="architecture 'mamba' cannot be exported, only of llama, qwen2, qwen3, gemma2"
    ):
        export_adapter(changed(), base_gguf=base, out_dir=tmp_path)


def test_a_folder_without_an_adapter_is_named(tmp_path, tiny_gguf):
    with pytest.raises(ExportError, match=r"holds no adapter_config\.json; train first"):
        export_adapter(tmp_path, base_gguf=tiny_gguf, out_dir=tmp_path)


@pytest.mark.parametrize(("text", "named"), [("{", "is not valid JSON"), ("[]", "is no peft config")])
def test_a_config_that_is_none_is_named(tmp_path, tiny_gguf, text, named):
    (tmp_path / "adapter_config.json").write_text(text)
    with pytest.raises(CipherError, match=named):
        export_adapter(tmp_path, base_gguf=tiny_gguf, out_dir=tmp_path)


def test_weights_that_are_missing_damaged_or_of_a_type_numpy_lacks_are_named(tmp_path, changed, tiny_gguf):
    import torch
    from safetensors.torch import save_file

    adapter = changed()
    path = adapter / "adapter_model.safetensors"
    for spoil, named in (
        (
            lambda: save_file({"a": torch.zeros(2, 2, dtype=torch.bfloat16)}, path),
            "bfloat16.*; save the adapter in float32",
        ),
        (lambda: path.write_bytes(path.read_bytes()[:-1]), "cannot be read"),
        (path.unlink, "cannot be read"),
    ):
        spoil()
        with pytest.raises(ExportError, match=named):
            export_adapter(adapter, base_gguf=tiny_gguf, out_dir=tmp_path)
