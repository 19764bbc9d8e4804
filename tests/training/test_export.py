import json
import shutil
from dataclasses import replace

import numpy as np
import pytest

from cipher_nb.config import TrainingSettings
from cipher_nb.errors import ExportError, IncompatibleAdapterError
from cipher_nb.training.export import export_adapter
from cipher_nb.training.qlora import train
from tests.training.conftest import GGUF_NAMES, HEADS, HIDDEN, KV_HEADS, LAYERS, write_gguf


@pytest.fixture(scope="module")
def adapter_dir(tiny_checkpoint, command_pairs, tmp_path_factory):
    out = tmp_path_factory.mktemp("trained") / "adapter"
    settings = TrainingSettings(epochs=1, lr=5e-3, batch_size=4)
    train(command_pairs, checkpoint=tiny_checkpoint, settings=settings, out=out)
    return out


@pytest.fixture
def changed(adapter_dir, tmp_path):
    """Return a function that copies the adapter with other config values."""

    def change(**values):
        copy = tmp_path / "changed"
        shutil.copytree(adapter_dir, copy)
        config = json.loads((copy / "adapter_config.json").read_text())
        (copy / "adapter_config.json").write_text(json.dumps({**config, **values}))
        return copy

    return change


def read(path):
    from gguf import GGUFReader

    reader = GGUFReader(path)
    fields = {name: field.contents() for name, field in reader.fields.items() if not name.startswith("GGUF.")}
    return fields, {tensor.name: np.array(tensor.data) for tensor in reader.tensors}


def weights(adapter_dir):
    from safetensors.numpy import load_file

    return load_file(adapter_dir / "adapter_model.safetensors")


def rotated(vector, heads, *, neighbours):
    """Rotary embedding at angle 0.1, 0.2, … per pair: of halves (transformers) or of neighbours (llama.cpp)."""
    head = vector.reshape(heads, -1)
    width = head.shape[1]
    angle = 0.1 * np.arange(1, width // 2 + 1)
    first, second = (head[:, 0::2], head[:, 1::2]) if neighbours else (head[:, : width // 2], head[:, width // 2 :])
    return first * np.cos(angle) - second * np.sin(angle), first * np.sin(angle) + second * np.cos(angle)


@pytest.mark.parametrize(("module", "heads"), [("q_proj", HEADS), ("k_proj", KV_HEADS)])
def test_q_and_k_rotate_in_llama_cpp_as_they_do_in_transformers(tmp_path, adapter_dir, tiny_gguf, module, heads):
    _, tensors = read(export_adapter(adapter_dir, base_gguf=tiny_gguf, out_dir=tmp_path).path)
    prefix = f"base_model.model.model.layers.1.self_attn.{module}"
    ours = tensors[f"blk.1.attn_{module[0]}.weight.lora_b"]
    theirs = weights(adapter_dir)[f"{prefix}.lora_B.weight"]
    low_rank = np.random.default_rng(0).normal(size=8).astype(np.float32)
    assert not np.array_equal(ours, theirs)
    np.testing.assert_allclose(
        rotated(ours @ low_rank, heads, neighbours=True), rotated(theirs @ low_rank, heads, neighbours=False), rtol=1e-5
    )


def test_all_other_tensors_are_written_as_they_are(tmp_path, adapter_dir, tiny_gguf):
    _, tensors = read(export_adapter(adapter_dir, base_gguf=tiny_gguf, out_dir=tmp_path).path)
    trained = weights(adapter_dir)
    assert len(tensors) == len(trained) == LAYERS * 7 * 2
    for layer in range(LAYERS):
        for module, name in GGUF_NAMES.items():
            for side in "AB":
                if side == "B" and name in ("attn_q", "attn_k"):
                    continue
                ours = tensors[f"blk.{layer}.{name}.weight.lora_{side.lower()}"]
                theirs = trained[f"base_model.model.model.layers.{layer}.{module}.lora_{side}.weight"]
                np.testing.assert_array_equal(ours, theirs)


def test_the_file_says_what_it_is_and_names_no_path(tmp_path, adapter_dir, tiny_gguf):
    exported = export_adapter(adapter_dir, base_gguf=tiny_gguf, out_dir=tmp_path)
    fields, _ = read(exported.path)
    assert exported.path == tmp_path / f"{exported.id}.gguf"
    assert len(exported.id) == 12
    assert fields["general.type"] == "adapter"
    assert fields["general.architecture"] == "llama"
    assert fields["adapter.type"] == "lora"
    assert fields["adapter.lora.alpha"] == 16.0
    assert fields["adapter.lora.task_name"] == exported.id
    assert fields["llama.feed_forward_length"] == 96
    for folder in (tiny_gguf.parent, adapter_dir.parent, tmp_path):
        assert str(folder).encode() not in exported.path.read_bytes()


def test_the_same_adapter_gives_the_same_file_and_another_base_another_id(tmp_path, adapter_dir, tiny_gguf):
    one = export_adapter(adapter_dir, base_gguf=tiny_gguf, out_dir=tmp_path / "a")
    again = export_adapter(adapter_dir, base_gguf=tiny_gguf, out_dir=tmp_path / "b")
    assert one.id == again.id
    assert one.path.read_bytes() == again.path.read_bytes()
    other_base = tmp_path / "other.gguf"
    content = bytearray(tiny_gguf.read_bytes())
    content[-1] ^= 1
    other_base.write_bytes(content)
    assert export_adapter(adapter_dir, base_gguf=other_base, out_dir=tmp_path / "c").id != one.id
    assert [path.name for path in (tmp_path / "a").iterdir()] == [one.path.name]


def test_rank_stabilised_lora_is_written_with_alpha_times_the_root_of_the_rank(tmp_path, changed, tiny_gguf):
    adapter = changed(use_rslora=True)
    fields, tensors = read(export_adapter(adapter, base_gguf=tiny_gguf, out_dir=tmp_path).path)
    assert fields["adapter.lora.alpha"] == pytest.approx(16 * 8**0.5)
    theirs = weights(adapter)["base_model.model.model.layers.0.mlp.up_proj.lora_B.weight"]
    np.testing.assert_allclose(tensors["blk.0.ffn_up.weight.lora_b"], theirs, rtol=1e-6)


def test_an_alpha_of_its_own_is_folded_into_b(tmp_path, changed, tiny_gguf):
    adapter = changed(alpha_pattern={"layers.0.mlp.up_proj": 64})
    _, tensors = read(export_adapter(adapter, base_gguf=tiny_gguf, out_dir=tmp_path).path)
    for layer, factor in ((0, 4), (1, 1)):
        theirs = weights(adapter)[f"base_model.model.model.layers.{layer}.mlp.up_proj.lora_B.weight"]
        np.testing.assert_allclose(tensors[f"blk.{layer}.ffn_up.weight.lora_b"], factor * theirs, rtol=1e-6)


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ({"use_dora": True}, "DoRA cannot be exported"),
        ({"modules_to_save": ["lm_head"]}, "modules_to_save cannot be exported"),
        ({"bias": "all"}, "bias = 'all' cannot be exported"),
        ({"lora_bias": True}, r"biases \(lora_bias\) cannot be exported"),
        ({"init_lora_weights": "pissa"}, "init_lora_weights = 'pissa' changes the base"),
        ({"peft_type": "IA3"}, "peft_type 'IA3' cannot be exported"),
        ({"use_tomorrows_feature": 3}, "use_tomorrows_feature cannot be exported"),
    ],
)
def test_what_gguf_cannot_hold_is_refused_by_name(tmp_path, changed, tiny_gguf, values, named):
    with pytest.raises(ExportError, match=named):
        export_adapter(changed(**values), base_gguf=tiny_gguf, out_dir=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_tensor_that_is_no_lora_of_a_linear_layer_is_refused_by_name(tmp_path, changed, tiny_gguf):
    from safetensors.numpy import save_file

    adapter = changed()
    save_file(
        {**weights(adapter), "base_model.model.lm_head.lora_A.weight": np.zeros((8, HIDDEN), np.float32)},
        adapter / "adapter_model.safetensors",
    )
    with pytest.raises(ExportError, match=r"tensor 'base_model\.model\.lm_head\.lora_A\.weight' cannot be exported"):
        export_adapter(adapter, base_gguf=tiny_gguf, out_dir=tmp_path)


def test_another_architecture_is_refused_by_name(tmp_path, adapter_dir):
    base = write_gguf(tmp_path / "base.gguf", arch="qwen2")
    with pytest.raises(ExportError, match="architecture 'qwen2' cannot be exported yet; only 'llama' can"):
        export_adapter(adapter_dir, base_gguf=base, out_dir=tmp_path)


def test_an_adapter_of_another_base_leaves_no_file_behind(tmp_path, adapter_dir):
    base = write_gguf(tmp_path / "base.gguf", intermediate=128)
    with pytest.raises(IncompatibleAdapterError, match="96"):
        export_adapter(adapter_dir, base_gguf=base, out_dir=tmp_path / "out")
    assert list((tmp_path / "out").iterdir()) == []


def test_a_folder_without_an_adapter_is_named(tmp_path, tiny_gguf):
    with pytest.raises(ExportError, match=r"holds no adapter_config\.json"):
        export_adapter(tmp_path, base_gguf=tiny_gguf, out_dir=tmp_path)


def test_a_smaller_rank_of_one_layer_keeps_its_scale(tmp_path, tiny_checkpoint, tiny_gguf, command_pairs):
    settings = replace(TrainingSettings(epochs=1, batch_size=4), rank=4)
    train(command_pairs[:4], checkpoint=tiny_checkpoint, settings=settings, out=tmp_path / "adapter")
    fields, tensors = read(export_adapter(tmp_path / "adapter", base_gguf=tiny_gguf, out_dir=tmp_path).path)
    assert fields["adapter.lora.alpha"] == 16.0
    assert tensors["blk.0.ffn_up.weight.lora_a"].shape == (4, HIDDEN)
