import numpy as np
import pytest

from cipher_nb.errors import IncompatibleAdapterError, ModelError
from cipher_nb.files import sha256_of
from cipher_nb.training.compat import check_adapter
from tests.bad_adapters import bad_adapters, good_adapter
from tests.training.conftest import HIDDEN, INTERMEDIATE, VOCABULARY, close, write_gguf

UP = "blk.0.ffn_up.weight"
A, B = np.ones((8, HIDDEN), np.float32), np.ones((INTERMEDIATE, 8), np.float32)


def write_adapter(path, tensors, *, arch="llama", keys=(), raw_dtype=None):
    from gguf import GGUFWriter

    writer = GGUFWriter(path, arch)
    writer.add_string("general.type", "adapter")
    writer.add_string("adapter.type", "lora")
    writer.add_float32("adapter.lora.alpha", 16.0)
    for key, value in dict(keys).items():
        writer.add_uint32(key, value) if isinstance(value, int) else writer.add_string(key, value)
    for name, array in tensors.items():
        writer.add_tensor(name, array, raw_dtype=raw_dtype)
    return close(writer, path)


GOOD = {f"{UP}.lora_a": A, f"{UP}.lora_b": B}


def spoiled(array, value):
    copy = array.copy()
    copy[3, 5] = value
    return copy


def test_an_adapter_with_no_more_than_its_tensors_fits(tmp_path, tiny_gguf):
    check_adapter(write_adapter(tmp_path / "a.gguf", GOOD), tiny_gguf)


@pytest.mark.parametrize(
    ("tensors", "keys", "named"),
    [
        (GOOD, {"llama.feed_forward_length": 128}, "intermediate size 128 against 96"),
        (GOOD, {"llama.embedding_length": 72}, "hidden size 72 against 64"),
        (GOOD, {"llama.block_count": 3}, "layer count 3 against 2"),
        (GOOD, {"llama.vocab_size": 300}, "vocabulary 300 against 259"),
        (
            {f"{UP}.lora_a": np.ones((8, 72), np.float32), f"{UP}.lora_b": np.ones((128, 8), np.float32)},
            {},
            "intermediate size 128 against 96, hidden size 72 against 64",
        ),
        (
            {"blk.7.ffn_up.weight.lora_a": A, "blk.7.ffn_up.weight.lora_b": B},
            {},
            "layer count 8 against 2",
        ),
        (
            {"token_embd.weight.lora_a": np.ones((300, 8), np.float32), "token_embd.weight.lora_b": A.T.copy()},
            {},
            "vocabulary 300 against 259",
        ),
        ({f"{UP}.lora_a": A}, {}, f"{UP}.lora_a has no {UP}.lora_b beside it"),
        ({f"{UP}.lora_b": B}, {}, f"{UP}.lora_b has no {UP}.lora_a beside it"),
        ({**GOOD, "blk.0.odd.weight": A}, {}, "blk.0.odd.weight is no LoRA tensor"),
        (
            {"blk.0.odd.weight.lora_a": A, "blk.0.odd.weight.lora_b": B},
            {},
            "blk.0.odd.weight.lora_a adapts a tensor that the base does not have",
        ),
        ({"odd.lora_a": A, "odd.lora_b": B}, {}, "odd.lora_a adapts a tensor that the base does not have"),
        (
            {f"{UP}.lora_a": A, f"{UP}.lora_b": np.ones((INTERMEDIATE, 4), np.float32)},
            {},
            f"{UP} is (96, 4) x (8, 64) in the adapter against (96, 64) in the base",
        ),
        (
            {"blk.0.attn_output.weight.lora_a": A, "blk.0.attn_output.weight.lora_b": B},
            {},
            "blk.0.attn_output.weight is (96, 8) x (8, 64) in the adapter against (64, 64) in the base",
        ),
        ({f"{UP}.lora_a": A, f"{UP}.lora_b": spoiled(B, np.nan)}, {}, f"{UP}.lora_b holds values that are not finite"),
        ({f"{UP}.lora_a": spoiled(A, np.inf), f"{UP}.lora_b": B}, {}, f"{UP}.lora_a holds values that are not finite"),
        ({}, {}, "it holds no tensors"),
        (GOOD, {"cipher_nb.base_sha256": "0123456789abcdef"}, "it was trained on the base 0123456789ab against"),
    ],
)
def test_a_misfit_names_both_sides(tmp_path, tiny_gguf, tensors, keys, named):
    adapter = write_adapter(tmp_path / "a.gguf", tensors, keys=keys)
    with pytest.raises(IncompatibleAdapterError) as caught:
        check_adapter(adapter, tiny_gguf)
    assert named in str(caught.value)
    assert "\n" not in str(caught.value)


def test_another_architecture_is_named_before_any_number(tmp_path, tiny_gguf):
    adapter = write_adapter(tmp_path / "a.gguf", GOOD, arch="qwen2")
    with pytest.raises(IncompatibleAdapterError, match="architecture 'qwen2' against 'llama'"):
        check_adapter(adapter, tiny_gguf)


def test_a_file_cut_anywhere_does_not_pass(tmp_path, tiny_gguf):
    whole = write_adapter(tmp_path / "whole.gguf", {f"{UP}.lora_a": A[:1], f"{UP}.lora_b": B[:, :1].copy()})
    check_adapter(whole, tiny_gguf)
    content, cut = whole.read_bytes(), tmp_path / "cut.gguf"
    for length in range(0, len(content), 7):
        cut.write_bytes(content[:length])
        with pytest.raises(IncompatibleAdapterError):
            check_adapter(cut, tiny_gguf)


def test_a_missing_adapter_and_a_broken_base_are_different_errors(tmp_path, tiny_gguf):
    adapter = write_adapter(tmp_path / "a.gguf", GOOD)
    with pytest.raises(IncompatibleAdapterError, match="does not exist"):
        check_adapter(tmp_path / "nowhere.gguf", tiny_gguf)
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(tiny_gguf.read_bytes()[:1000])
    with pytest.raises(ModelError, match="no GGUF file, or a damaged one"):
        check_adapter(adapter, broken)


def test_a_base_with_more_layers_is_told_from_one_with_fewer(tmp_path):
    base = write_gguf(tmp_path / "base.gguf", layers=3)
    check_adapter(write_adapter(tmp_path / "a.gguf", GOOD), base)
    with pytest.raises(IncompatibleAdapterError, match="layer count 2 against 3"):
        check_adapter(write_adapter(tmp_path / "b.gguf", GOOD, keys={"llama.block_count": 2}), base)


def test_every_way_of_being_bad_is_refused_in_words_that_name_it(tmp_path):
    base = write_gguf(tmp_path / "base.gguf", layers=3)
    check_adapter(good_adapter(base, tmp_path / "good.gguf"), base)
    bad = bad_adapters(base)
    assert len({each.name for each in bad}) == 29
    for each in bad:
        path = tmp_path / f"{each.name}.gguf"
        each.write(path)
        with pytest.raises(IncompatibleAdapterError) as caught:
            check_adapter(path, base)
        assert each.words in str(caught.value), each.name
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("kind", ["F16", "BF16", "Q8_0"])
def test_the_other_types_that_llama_cpps_converter_writes_fit_and_are_looked_into(tmp_path, tiny_gguf, kind):
    from gguf import GGMLQuantizationType, quantize

    def write(name, values):
        numbers = {UP: values, "blk.0.ffn_down.weight": np.ones((HIDDEN, INTERMEDIATE), np.float32)}
        tensors = {
            f"{target}.lora_{side}": quantize(array, GGMLQuantizationType[kind])
            for target, weight in numbers.items()
            for side, array in (("a", weight[:32]), ("b", np.ones((len(weight), 32), np.float32)))
        }
        return write_adapter(tmp_path / name, tensors, raw_dtype=GGMLQuantizationType[kind])

    weight = np.ones((INTERMEDIATE, HIDDEN), np.float32)
    check_adapter(write("good.gguf", weight), tiny_gguf)
    if kind != "Q8_0":
        weight[3, 5] = np.nan
        with pytest.raises(IncompatibleAdapterError, match="not finite"):
            check_adapter(write("bad.gguf", weight), tiny_gguf)


def test_the_embeddings_own_layout_is_known(tmp_path, tiny_gguf):
    a, b = np.ones((VOCABULARY, 8), np.float32), np.ones((HIDDEN, 8), np.float32)
    check_adapter(
        write_adapter(tmp_path / "a.gguf", {"token_embd.weight.lora_a": a, "token_embd.weight.lora_b": b}), tiny_gguf
    )


def test_a_base_that_was_replaced_is_looked_at_again(tmp_path):
    base = write_gguf(tmp_path / "base.gguf")
    adapter = write_adapter(tmp_path / "a.gguf", GOOD, keys={"cipher_nb.base_sha256": sha256_of(base)})
    check_adapter(adapter, base)
    content = bytearray(base.read_bytes())
    content[-1] ^= 1
    (tmp_path / "new.gguf").write_bytes(content)
    (tmp_path / "new.gguf").replace(base)
    with pytest.raises(IncompatibleAdapterError, match="it was trained on the base"):
        check_adapter(adapter, base)


def test_whatever_byte_is_wrong_the_answer_is_yes_or_a_refusal(tmp_path, tiny_gguf):
    whole = write_adapter(tmp_path / "whole.gguf", GOOD, keys={"llama.block_count": 2}).read_bytes()
    random, refused = np.random.default_rng(5), 0
    for _ in range(300):
        content = bytearray(whole)
        for at in random.integers(0, 700, size=random.integers(1, 4)):
            content[at] = random.integers(0, 256)
        (tmp_path / "a.gguf").write_bytes(content)
        try:
            check_adapter(tmp_path / "a.gguf", tiny_gguf)
        except IncompatibleAdapterError:
            refused += 1
    assert 150 < refused < 300
