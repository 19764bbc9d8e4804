"""Our export against llama.cpp's own script, tensor by tensor, on random models of every family."""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from cipher_nb.training.export import export_adapter
from tests.tiny_models import FAMILIES, tiny_model
from tests.training.llama_cpp_script import base_gguf, convert_all, random_adapter, read_gguf

pytestmark = pytest.mark.slow

PER_FAMILY = 6
SHAPES = ((4, 2, 16), (4, 4, 16), (6, 3, 16), (8, 1, 8), (2, 2, 32), (4, 2, 32))  # heads, kv heads, head size
LAYERS = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
FUSED_LAYERS = ("qkv_proj", "o_proj", "gate_up_proj", "down_proj")
WIDER_HEADS = ("llama", "qwen3", "gemma2", "gemma3")


def sizes(arch, number, rng):
    heads, kv_heads, head_dim = SHAPES[number]
    wider = arch in WIDER_HEADS and number % 3 == 2
    return {
        "layers": rng.randint(1, 4),
        "heads": heads,
        "kv_heads": kv_heads,
        "head_dim": 2 * head_dim if wider else head_dim,
        "hidden": heads * head_dim,
        "intermediate": rng.choice((48, 96, 160)),
        "tied": arch.startswith("gemma") or number % 2 == 0,
    }


def settings(arch, number, rng, *, tied):
    layers = FUSED_LAYERS if arch == "phi3" else LAYERS
    chosen = layers if number % 2 == 0 else rng.sample(layers, rng.randint(1, len(layers)))
    return {
        "r": rng.choice((1, 2, 3, 5, 8)),
        "lora_alpha": rng.choice((1, 7, 16, 33)),
        "target_modules": [*chosen, *([] if tied else ["lm_head"])],
    }


@dataclass(frozen=True)
class Model:
    name: str
    arch: str
    checkpoint: Path
    adapter: Path
    base: Path


@dataclass(frozen=True)
class Exports:
    """The files of one model, ours and the script's."""

    name: str
    ours: Path
    theirs: Path


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    rng, found = random.Random(11), []
    for arch in FAMILIES:
        for number in range(PER_FAMILY):
            folder = tmp_path_factory.mktemp(f"{arch}-{number}")
            shape = sizes(arch, number, rng)
            chosen = settings(arch, number, rng, tied=shape["tied"])
            checkpoint = tiny_model(arch, folder / "base", seed=number, **shape)
            adapter = random_adapter(checkpoint, folder / "adapter", seed=number, **chosen)
            base = base_gguf(checkpoint, arch, folder / "base.gguf")
            found.append(Model(f"{arch}-{number}", arch, checkpoint, adapter, base))
    return found


@pytest.fixture(scope="module")
def exports(models):
    """Per type, both files of every model."""
    found, jobs = {"f32": [], "f16": []}, []
    for dtype, files in found.items():
        for model in models:
            folder = model.base.parent
            ours = export_adapter(model.adapter, base_gguf=model.base, out_dir=folder / "ours", dtype=dtype)
            theirs = folder / f"theirs-{dtype}.gguf"
            jobs.append(["--outtype", dtype, "--outfile", theirs, "--base", model.checkpoint, model.adapter])
            files.append(Exports(model.name, ours.path, theirs))
    convert_all(jobs)
    return found


@pytest.mark.parametrize("dtype", ["f32", "f16"])
def test_names_shapes_types_and_every_bit_are_those_of_llama_cpp(exports, dtype):
    assert len(exports[dtype]) == 36
    for files in exports[dtype]:
        (_, ours), (_, theirs) = read_gguf(files.ours), read_gguf(files.theirs)
        assert ours.keys() == theirs.keys(), files.name
        for name, array in theirs.items():
            assert array.dtype == {"f32": np.float32, "f16": np.float16}[dtype]
            assert (ours[name].dtype, ours[name].shape) == (array.dtype, array.shape), (files.name, name)
            assert ours[name].tobytes() == array.tobytes(), (files.name, name)


def test_what_the_file_says_of_itself_is_what_llama_cpp_says(exports):
    for files in exports["f32"]:
        (ours, _), (theirs, _) = read_gguf(files.ours), read_gguf(files.theirs)
        keys = ("general.type", "general.architecture", "adapter.type", "adapter.lora.alpha")
        assert {key: ours[key] for key in keys} == {key: theirs[key] for key in keys}, files.name


def test_the_models_differ_in_what_is_adapted(exports):
    tensors = [set(read_gguf(files.ours)[1]) for files in exports["f32"]]
    assert sum("output.weight.lora_a" in names for names in tensors) == 12
    assert sum("blk.0.attn_qkv.weight.lora_a" in names for names in tensors) >= 3
    assert len({frozenset(names) for names in tensors}) >= 20


PATTERNS = {"alpha_pattern": {r"layers.0.*": 40, "v_proj": 3}, "rank_pattern": {"down_proj": 4, r"layers.1.*q_proj": 1}}


@pytest.fixture(scope="module", params=[{}, {"use_rslora": True}], ids=["plain", "rslora"])
def patterned(request, tmp_path_factory):
    """A qwen2, whose rows stay where they are, with alphas and ranks of some layers' own; and both exports of it."""
    folder = tmp_path_factory.mktemp("patterned")
    checkpoint = tiny_model("qwen2", folder / "base")
    chosen = {"r": 8, "lora_alpha": 16, "target_modules": list(LAYERS), **PATTERNS, **request.param}
    adapter = random_adapter(checkpoint, folder / "adapter", **chosen)
    base = base_gguf(checkpoint, "qwen2", folder / "base.gguf")
    ours = export_adapter(adapter, base_gguf=base, out_dir=folder / "ours")
    theirs = folder / "theirs.gguf"
    convert_all([["--outfile", theirs, "--base", checkpoint, adapter]])
    return Model("patterned", "qwen2", checkpoint, adapter, base), Exports("patterned", ours.path, theirs)


def added(path):
    """What llama.cpp adds to each weight: alpha / rank times B A."""
    keys, tensors = read_gguf(path)
    sides = {name: (tensors[f"{name}.lora_b"], tensors[f"{name}.lora_a"]) for name in {n[:-7] for n in tensors}}
    return {name: keys["adapter.lora.alpha"] / a.shape[0] * (b @ a) for name, (b, a) in sides.items()}


def added_by_peft(model):
    """The same from peft itself, under the names of llama.cpp."""
    from gguf import MODEL_ARCH, get_tensor_name_map
    from peft import PeftModel
    from transformers import AutoModelForCausalLM

    names = get_tensor_name_map(MODEL_ARCH.QWEN2, 2)
    peft = PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained(model.checkpoint), model.adapter)
    return {
        f"{names.get_name(name.removeprefix('base_model.model.'))}.weight": module.get_delta_weight("default").numpy()
        for name, module in peft.named_modules()
        if hasattr(module, "get_delta_weight")
    }


def test_alphas_and_ranks_of_a_layers_own_add_what_peft_adds(patterned):
    model, files = patterned
    ours, peft = added(files.ours), added_by_peft(model)
    assert ours.keys() == peft.keys()
    for name, delta in peft.items():
        np.testing.assert_allclose(ours[name], delta, rtol=1e-5, atol=1e-5, err_msg=name)


def test_there_the_script_of_llama_cpp_adds_something_else(patterned):
    model, files = patterned
    theirs, peft = added(files.theirs), added_by_peft(model)
    assert not np.allclose(theirs["blk.0.ffn_up.weight"], peft["blk.0.ffn_up.weight"], rtol=0.1)
