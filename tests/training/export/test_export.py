import subprocess
import sys
import textwrap

import numpy as np
import pytest

from cipher_nb.errors import ExportError, IncompatibleAdapterError, ModelError
from cipher_nb.training.export import export_adapter
from tests.training.conftest import GGUF_NAMES, HEADS, HIDDEN, KV_HEADS, LAYERS, write_gguf
from tests.training.llama_cpp_script import read_gguf, rewrite, weights_of

FOLDED = "base_model.model.model.layers.{}.mlp.up_proj.lora_B.weight"


def rotated(vector, heads, *, neighbours):
    """Rotary embedding at angle 0.1, 0.2, … per pair: of halves (transformers) or of neighbours (llama.cpp)."""
    head = vector.reshape(heads, -1)
    width = head.shape[1]
    angle = 0.1 * np.arange(1, width // 2 + 1)
    first, second = (head[:, 0::2], head[:, 1::2]) if neighbours else (head[:, : width // 2], head[:, width // 2 :])
    return first * np.cos(angle) - second * np.sin(angle), first * np.sin(angle) + second * np.cos(angle)


@pytest.mark.parametrize(("module", "heads"), [("q_proj", HEADS), ("k_proj", KV_HEADS)])
def test_q_and_k_rotate_in_llama_cpp_as_they_do_in_transformers(tmp_path, tiny_adapter, tiny_gguf, module, heads):
    _, tensors = read_gguf(export_adapter(tiny_adapter, base_gguf=tiny_gguf, out_dir=tmp_path).path)
    prefix = f"base_model.model.model.layers.1.self_attn.{module}"
    ours = tensors[f"blk.1.attn_{module[0]}.weight.lora_b"]
    theirs = weights_of(tiny_adapter)[f"{prefix}.lora_B.weight"]
    low_rank = np.random.default_rng(0).normal(size=8).astype(np.float32)
    assert not np.array_equal(ours, theirs)
    np.testing.assert_allclose(
        rotated(ours @ low_rank, heads, neighbours=True), rotated(theirs @ low_rank, heads, neighbours=False), rtol=1e-4
    )


def test_all_other_tensors_are_written_as_they_are(tmp_path, tiny_adapter, tiny_gguf):
    _, tensors = read_gguf(export_adapter(tiny_adapter, base_gguf=tiny_gguf, out_dir=tmp_path).path)
    trained = weights_of(tiny_adapter)
    assert len(tensors) == len(trained) == LAYERS * 7 * 2
    for layer in range(LAYERS):
        for module, name in GGUF_NAMES.items():
            for side in "AB":
                if side == "B" and name in ("attn_q", "attn_k"):
                    continue
                ours = tensors[f"blk.{layer}.{name}.weight.lora_{side.lower()}"]
                theirs = trained[f"base_model.model.model.layers.{layer}.{module}.lora_{side}.weight"]
                np.testing.assert_array_equal(ours, theirs)


def test_the_file_says_what_it_is_and_names_no_path(tmp_path, tiny_adapter, tiny_checkpoint, tiny_gguf):
    exported = export_adapter(tiny_adapter, base_gguf=tiny_gguf, out_dir=tmp_path)
    fields, _ = read_gguf(exported.path)
    assert exported.path == tmp_path / f"{exported.id}.gguf"
    assert len(exported.id) == 12
    assert fields["general.type"] == "adapter"
    assert fields["general.architecture"] == "llama"
    assert fields["adapter.type"] == "lora"
    assert fields["adapter.lora.alpha"] == 16.0
    assert fields["adapter.lora.task_name"] == exported.id
    assert fields["llama.feed_forward_length"] == 96
    for folder in (tiny_gguf.parent, tiny_checkpoint, tiny_adapter.parent, tmp_path):
        assert str(folder).encode() not in exported.path.read_bytes()


def test_the_same_adapter_gives_the_same_file_and_another_base_another_id(tmp_path, tiny_adapter, tiny_gguf):
    one = export_adapter(tiny_adapter, base_gguf=tiny_gguf, out_dir=tmp_path / "a")
    again = export_adapter(tiny_adapter, base_gguf=tiny_gguf, out_dir=tmp_path / "b")
    assert one.id == again.id
    assert one.path.read_bytes() == again.path.read_bytes()
    other_base = tmp_path / "other.gguf"
    content = bytearray(tiny_gguf.read_bytes())
    content[-1] ^= 1
    other_base.write_bytes(content)
    assert export_adapter(tiny_adapter, base_gguf=other_base, out_dir=tmp_path / "c").id != one.id
    assert [path.name for path in (tmp_path / "a").iterdir()] == [one.path.name]


def test_rank_stabilised_lora_is_written_with_alpha_times_the_root_of_the_rank(tmp_path, changed, tiny_gguf):
    adapter = changed(use_rslora=True)
    fields, tensors = read_gguf(export_adapter(adapter, base_gguf=tiny_gguf, out_dir=tmp_path).path)
    assert fields["adapter.lora.alpha"] == pytest.approx(16 * 8**0.5)
    np.testing.assert_array_equal(tensors["blk.0.ffn_up.weight.lora_b"], weights_of(adapter)[FOLDED.format(0)])


def test_an_alpha_of_its_own_is_folded_into_b(tmp_path, changed, tiny_gguf):
    adapter = changed(alpha_pattern={"layers.0.mlp.up_proj": 64})
    _, tensors = read_gguf(export_adapter(adapter, base_gguf=tiny_gguf, out_dir=tmp_path).path)
    for layer, factor in ((0, 4), (1, 1)):
        theirs = weights_of(adapter)[FOLDED.format(layer)]
        np.testing.assert_allclose(tensors[f"blk.{layer}.ffn_up.weight.lora_b"], factor * theirs, rtol=1e-6)


def test_an_odd_rank_and_alpha_leave_every_bit_as_it_was(tmp_path, changed, tiny_gguf):
    adapter = changed(r=3, lora_alpha=7)
    rewrite(adapter, lambda name, weight: weight[:3] if "lora_A" in name else weight[:, :3])
    fields, tensors = read_gguf(export_adapter(adapter, base_gguf=tiny_gguf, out_dir=tmp_path).path)
    assert fields["adapter.lora.alpha"] == 7.0
    np.testing.assert_array_equal(tensors["blk.0.ffn_up.weight.lora_b"], weights_of(adapter)[FOLDED.format(0)])


def test_float16_halves_the_file_and_has_an_id_of_its_own(tmp_path, tiny_adapter, tiny_gguf):
    wide = export_adapter(tiny_adapter, base_gguf=tiny_gguf, out_dir=tmp_path)
    narrow = export_adapter(tiny_adapter, base_gguf=tiny_gguf, out_dir=tmp_path, dtype="f16")
    _, tensors = read_gguf(narrow.path)
    assert {array.dtype for array in tensors.values()} == {np.dtype(np.float16)}
    assert narrow.path.stat().st_size < 0.6 * wide.path.stat().st_size
    assert narrow.id != wide.id


def test_a_value_that_float16_cannot_hold_is_refused_by_name(tmp_path, changed, tiny_gguf):
    adapter = changed()
    rewrite(adapter, lambda name, weight: weight * 1e6 if name == FOLDED.format(1) else weight)
    with pytest.raises(ExportError, match=r"layers\.1\.mlp\.up_proj\.lora_B\.weight' reaches .*; export it as f32"):
        export_adapter(adapter, base_gguf=tiny_gguf, out_dir=tmp_path, dtype="f16")
    export_adapter(adapter, base_gguf=tiny_gguf, out_dir=tmp_path)


def test_half_a_pair_and_values_that_are_not_finite_leave_no_file(tmp_path, changed, tiny_gguf):
    out = tmp_path / "out"
    for spoil, named in (
        (lambda name, weight: None if name == FOLDED.format(1) else weight, "has no blk.1.ffn_up.weight.lora_b"),
        (lambda name, weight: weight * np.float32("nan") if name == FOLDED.format(1) else weight, "not finite"),
    ):
        adapter = changed()
        rewrite(adapter, spoil)
        with pytest.raises(IncompatibleAdapterError, match=named):
            export_adapter(adapter, base_gguf=tiny_gguf, out_dir=out)
        assert list(out.iterdir()) == []


def test_an_adapter_of_another_base_leaves_no_file_behind(tmp_path, tiny_adapter):
    base = write_gguf(tmp_path / "base.gguf", intermediate=128)
    with pytest.raises(
        IncompatibleAdapterError, match=r"\.gguf does not fit base\.gguf: intermediate size 96 against 128"
    ):
        export_adapter(tiny_adapter, base_gguf=base, out_dir=tmp_path / "out")
    assert list((tmp_path / "out").iterdir()) == []


@pytest.mark.parametrize(
    ("limit", "cause"),
    [
        (1_000, "[Errno 27] File too large"),
        (20_000, "[Errno 28] the disk took only a part of it"),
        (61_700, "[Errno 28] the disk took only a part of it"),
    ],
)
def test_a_full_disk_is_named_and_leaves_neither_file_nor_half(tmp_path, tiny_adapter, tiny_gguf, limit, cause):
    before = export_adapter(tiny_adapter, base_gguf=tiny_gguf, out_dir=tmp_path / "out")
    whole = before.path.read_bytes()
    assert len(whole) > 61_700
    code = f"""
        import resource, sys
        from pathlib import Path
        from cipher_nb.errors import ExportError
        from cipher_nb.training.export import export_adapter
        resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))
        adapter, base, out = map(Path, sys.argv[1:])
        try:
            export_adapter(adapter, base_gguf=base, out_dir=out)
        except ExportError as error:
            print(error)
    """
    command = [sys.executable, "-c", textwrap.dedent(code), tiny_adapter, tiny_gguf, before.path.parent]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    out = tmp_path / "out"
    assert run.stdout == f"no adapter could be written to {out} ({cause}); make room, and export again\n"
    assert [path.name for path in (tmp_path / "out").iterdir()] == [before.path.name]
    assert before.path.read_bytes() == whole


def test_a_base_that_is_missing_is_a_model_error(tmp_path, tiny_adapter):
    with pytest.raises(ModelError, match=r"nowhere\.gguf does not exist"):
        export_adapter(tiny_adapter, base_gguf=tmp_path / "nowhere.gguf", out_dir=tmp_path)


def test_a_smaller_rank_of_one_layer_keeps_its_scale(tmp_path, changed, tiny_gguf):
    adapter = changed(rank_pattern={"layers.0.mlp.up_proj": 2})
    rewrite(adapter, lambda name, weight: _narrow(name, weight) if "layers.0.mlp.up_proj" in name else weight)
    fields, tensors = read_gguf(export_adapter(adapter, base_gguf=tiny_gguf, out_dir=tmp_path).path)
    assert fields["adapter.lora.alpha"] == 16.0
    assert tensors["blk.0.ffn_up.weight.lora_a"].shape == (2, HIDDEN)
    np.testing.assert_array_equal(tensors["blk.0.ffn_up.weight.lora_b"], weights_of(adapter)[FOLDED.format(0)])


def _narrow(name, weight):
    return weight[:2] if "lora_A" in name else weight[:, :2]
