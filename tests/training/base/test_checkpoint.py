import json

import pytest

from cipher_nb.errors import ModelError, TrainingError
from cipher_nb.training.base.checkpoint import checkpoint_for
from cipher_nb.training.qlora.tokens import load_tokenizer
from tests.training.conftest import SYSTEM, write_gguf

TRICKY = [
    "12345 + 678 = 13023",
    "x1y22z333 v2.10.4, 3.14e-10 and 0xFF",
    "² ³ ½ ٣ ४ Ⅷ 五",
    "def f(a, *, b=1):\n    return {a: b ** 2}  # note\n\n\n\tpass\n",
    "naïve café – Straße, ﬁne; 日本語のテキスト и русский",
    "👩‍👩‍👧 🏳️‍🌈 \u200b zero width, \ufeff mark",
    "   leading and trailing   ",
    "don't we'll I'M '5 's5 1's",
    "a\r\nb\rc\x0bd\u2028e\u00a0f",
    "<|im_start|>user\nhi<|im_end|>",
    "$HOME/.bashrc && ls -la | grep '^d' > out_2.txt",
    "",
]


def test_a_missing_model_and_a_file_that_is_none_are_named(tmp_path):
    with pytest.raises(ModelError, match=r"nowhere\.gguf does not exist"):
        checkpoint_for(tmp_path / "nowhere.gguf", cache=tmp_path)
    text = tmp_path / "text.gguf"
    text.write_text("not a model, though it is long enough to look like one")
    with pytest.raises(ModelError, match=r"text\.gguf is no GGUF file"):
        checkpoint_for(text, cache=tmp_path)


def test_an_unknown_tokenizer_rule_is_refused_and_leaves_no_checkpoint(tmp_path):
    base = write_gguf(tmp_path / "base.gguf")
    with pytest.raises(TrainingError, match=r"splits text by the rule '', and only 'smollm' is known here"):
        checkpoint_for(base, cache=tmp_path)
    assert not [path for path in (tmp_path / "checkpoints").iterdir() if (path / "manifest.json").exists()]


def test_a_cache_that_cannot_be_written_is_named(tmp_path, tiny_gguf):
    (tmp_path / "checkpoints").write_text("in the way")
    with pytest.raises(TrainingError, match="cannot keep the dequantised model in"):
        checkpoint_for(tiny_gguf, cache=tmp_path)


@pytest.mark.slow
@pytest.mark.model
def test_the_checkpoint_holds_the_dequantised_weights_and_is_made_once(embedded_gguf, embedded_checkpoint):
    import numpy as np
    from gguf import GGUFReader, dequantize
    from safetensors.numpy import load_file

    weights = load_file(embedded_checkpoint / "model.safetensors")
    reader = GGUFReader(embedded_gguf)
    for ours, theirs in (
        ("model.layers.29.mlp.down_proj.weight", "blk.29.ffn_down.weight"),
        ("model.layers.3.self_attn.v_proj.weight", "blk.3.attn_v.weight"),
        ("model.embed_tokens.weight", "token_embd.weight"),
        ("model.norm.weight", "output_norm.weight"),
    ):
        tensor = next(tensor for tensor in reader.tensors if tensor.name == theirs)
        assert weights[ours].dtype == np.float32
        np.testing.assert_array_equal(weights[ours], dequantize(tensor.data, tensor.tensor_type))
    before = (embedded_checkpoint / "model.safetensors").stat().st_mtime_ns
    assert checkpoint_for(embedded_gguf, cache=embedded_checkpoint.parents[1]) == embedded_checkpoint
    assert (embedded_checkpoint / "model.safetensors").stat().st_mtime_ns == before
    assert json.loads((embedded_checkpoint / "manifest.json").read_text())["gguf_name"] == embedded_gguf.name


@pytest.mark.slow
@pytest.mark.model
def test_a_checkpoint_without_its_manifest_is_made_again(embedded_gguf, tmp_path):
    folder = checkpoint_for(embedded_gguf, cache=tmp_path)
    whole = (folder / "model.safetensors").stat().st_size
    (folder / "manifest.json").unlink()
    (folder / "model.safetensors").write_bytes(b"half")
    assert checkpoint_for(embedded_gguf, cache=tmp_path) == folder
    assert (folder / "model.safetensors").stat().st_size == whole


@pytest.mark.slow
@pytest.mark.model
@pytest.mark.parametrize("text", TRICKY)
def test_the_tokenizer_agrees_with_the_server(embedded_checkpoint, embedded_client, text):
    tokenizer = load_tokenizer(embedded_checkpoint)
    assert tokenizer(text, add_special_tokens=False)["input_ids"] == embedded_client.tokenize(text)


@pytest.mark.slow
@pytest.mark.model
@pytest.mark.parametrize(
    "messages",
    [
        [{"role": "user", "content": "What is 12 + 30?"}],
        [{"role": "system", "content": SYSTEM}, {"role": "user", "content": "Rename x1 to y22.\n"}],
        [
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "content": "Hello."},
            {"role": "user", "content": "<b>?</b>"},
        ],
    ],
)
def test_a_prompt_is_rendered_as_the_server_renders_it(embedded_checkpoint, embedded_client, messages):
    tokenizer = load_tokenizer(embedded_checkpoint)
    ours = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    assert ours == embedded_client.render(messages)
