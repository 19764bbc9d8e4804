"""Adapters that must not be loaded: each looks like a good one of its base, but for one thing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from cipher_nb.training.base.metadata import BASE_SHA256, Metadata, fingerprint_of, read_metadata

RANK = 4
UP, DOWN = "blk.0.ffn_up.weight", "blk.0.ffn_down.weight"


@dataclass(frozen=True)
class BadAdapter:
    """`write` makes it at a path that does not exist yet; `words` stand in the refusal."""

    name: str
    write: Callable[[Path], object]
    words: str


@dataclass(frozen=True)
class _Adapter:
    """A good adapter of `base`, until something in it is replaced."""

    base: Metadata
    tensors: Mapping[str, Any]
    architecture: str
    adapter_kind: str = "lora"
    alpha: float | int | None = 8.0
    base_sha256: str = ""
    sizes: Mapping[str, int] | None = None

    def write(self, path: Path) -> Path:
        from gguf import GGMLQuantizationType, GGUFWriter

        writer = GGUFWriter(path, self.architecture)
        writer.add_string("general.type", "adapter")
        writer.add_string("adapter.type", self.adapter_kind)
        writer.add_string("adapter.lora.task_name", path.stem)
        writer.add_string(BASE_SHA256, self.base_sha256)
        if isinstance(self.alpha, int):
            writer.add_uint32("adapter.lora.alpha", self.alpha)
        elif self.alpha is not None:
            writer.add_float32("adapter.lora.alpha", self.alpha)
        for name, size in (self.sizes or {}).items():
            writer.add_uint32(f"{self.architecture}.{name}", size)
        for name, array in self.tensors.items():
            quantised = array.dtype == np.uint8
            writer.add_tensor(name, array, raw_dtype=GGMLQuantizationType.Q4_0 if quantised else None)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        return path


def good_adapter(base: Path, path: Path) -> Path:
    """Write the adapter that all bad ones are like; it passes and changes answers a little."""
    return _good(base).write(path)


def bad_adapters(base: Path) -> list[BadAdapter]:
    """Return one bad adapter of `base` (a GGUF file of architecture llama) per way of being bad."""
    good = _good(base)
    return [*_no_adapters(base, good), *_bad_keys(good), *_bad_shapes(good), *_bad_tensors(good)]


def _good(base: Path) -> _Adapter:
    found = read_metadata(base)
    random = np.random.default_rng(3)
    tensors = {}
    for target in (UP, DOWN, f"blk.{found.layers - 1}.ffn_up.weight"):
        tensors.update(_pair(target, *found.tensors[target].shape, random=random))
    return _Adapter(found, tensors, found.architecture, base_sha256=fingerprint_of(base))


def _pair(target: str, rows: int, columns: int, *, random: np.random.Generator) -> dict[str, Any]:
    return {
        f"{target}.lora_a": random.normal(0, 0.01, (RANK, columns)).astype(np.float32),
        f"{target}.lora_b": random.normal(0, 0.01, (rows, RANK)).astype(np.float32),
    }


def _ones(target: str, rows: int, columns: int, *, rank: int = RANK) -> dict[str, Any]:
    return {
        f"{target}.lora_a": np.ones((rank, columns), np.float32),
        f"{target}.lora_b": np.ones((rows, rank), np.float32),
    }


def _no_adapters(base: Path, good: _Adapter) -> list[BadAdapter]:
    def cut(path: Path, *, share: float) -> None:
        content = good.write(path).read_bytes()
        path.write_bytes(content[: int(len(content) * share)])

    return [
        BadAdapter("a-folder", lambda path: path.mkdir(), "cannot be read (Is a directory)"),
        BadAdapter("an-empty-file", lambda path: path.touch(), "is no GGUF file"),
        BadAdapter("a-text", lambda path: path.write_text("adapter " * 100), "it does not begin with GGUF"),
        BadAdapter("cut-in-the-header", lambda path: cut(path, share=0.01), "is no GGUF file, or a damaged one"),
        BadAdapter("cut-in-the-tensors", lambda path: cut(path, share=0.9), "is no GGUF file, or a damaged one"),
        BadAdapter("the-base-itself", lambda path: path.symlink_to(base), "instead of 'adapter'"),
    ]


def _bad_keys(good: _Adapter) -> list[BadAdapter]:
    base = good.base
    bad = {
        "of-another-kind": (replace(good, adapter_kind="control"), "adapter.type is 'control' instead of 'lora'"),
        "another-architecture": (replace(good, architecture="qwen2"), f"'qwen2' against {base.architecture!r}"),
        "without-alpha": (replace(good, alpha=None), "adapter.lora.alpha is missing"),
        "alpha-0": (replace(good, alpha=0.0), "adapter.lora.alpha is 0.0"),
        "alpha-nan": (replace(good, alpha=float("nan")), "adapter.lora.alpha is nan"),
        "alpha-a-whole-number": (replace(good, alpha=8), "adapter.lora.alpha is no 32-bit float"),
        "another-vocabulary": (
            replace(good, sizes={"vocab_size": base.vocabulary + 1}),
            f"vocabulary {base.vocabulary + 1} against {base.vocabulary}",
        ),
        "another-layer-count": (
            replace(good, sizes={"block_count": base.layers + 2}),
            f"layer count {base.layers + 2} against {base.layers}",
        ),
        "another-base-of-the-same-shape": (
            replace(good, base_sha256="0123456789abcdef" * 4),
            "it was trained on the base 0123456789ab against",
        ),
    }
    return [BadAdapter(name, adapter.write, words) for name, (adapter, words) in bad.items()]


def _bad_shapes(good: _Adapter) -> list[BadAdapter]:
    hidden, inner, layers = good.base.hidden_size, good.base.intermediate_size, good.base.layers
    beyond = f"blk.{layers}.ffn_up.weight"
    narrow = {**_ones(UP, inner, hidden), f"{UP}.lora_b": np.ones((inner, RANK - 1), np.float32)}
    bad = {
        "another-intermediate-size": (_ones(UP, inner + 32, hidden), f"intermediate size {inner + 32} against {inner}"),
        "another-hidden-size": (_ones(UP, inner, hidden + 32), f"hidden size {hidden + 32} against {hidden}"),
        "one-layer-too-many": (_ones(beyond, inner, hidden), f"layer count {layers + 1} against {layers}"),
        "two-ranks-in-a-pair": (narrow, f"{UP} is ({inner}, {RANK - 1}) x ({RANK}, {hidden}) in the adapter"),
        "the-wrong-way-round": (_ones(DOWN, inner, hidden), f"against ({hidden}, {inner}) in the base"),
        "rank-0": (_ones(UP, inner, hidden, rank=0), "rank 0"),
    }
    return [
        BadAdapter(name, replace(good, tensors={**good.tensors, **tensors}).write, words)
        for name, (tensors, words) in bad.items()
    ]


def _bad_tensors(good: _Adapter) -> list[BadAdapter]:
    a, b = f"{UP}.lora_a", f"{UP}.lora_b"
    blocks = np.zeros((RANK, good.base.hidden_size // 32 * 18), np.uint8)  # Q4_0 keeps 32 values in 18 bytes
    broken, endless = good.tensors[a].copy(), good.tensors[b].copy()
    broken[1, 2], endless[2, 1] = np.nan, np.inf
    bad = {
        "without-tensors": ({}, "it holds no tensors"),
        "half-a-pair": ({n: t for n, t in good.tensors.items() if n != b}, f"{a} has no {b} beside it"),
        "nan": ({**good.tensors, a: broken}, f"{a} holds values that are not finite"),
        "infinite": ({**good.tensors, b: endless}, f"{b} holds values that are not finite"),
        "quantised-oddly": ({**good.tensors, a: blocks}, f"{a} is of type Q4_0"),
        "no-lora": ({**good.tensors, "output_norm.weight": np.ones(4, np.float32)}, "output_norm.weight is no LoRA"),
        "of-a-foreign-layer": (
            {**good.tensors, **_ones("blk.0.attn_qkv.weight", 8, 8)},
            "blk.0.attn_qkv.weight.lora_a adapts a tensor that the base does not have",
        ),
    }

    def twice(path: Path) -> None:
        inner, hidden = good.base.intermediate_size, good.base.hidden_size
        both = replace(good, tensors={**good.tensors, **_ones("blk.1.ffn_up.weight", inner, hidden)})
        path.write_bytes(both.write(path).read_bytes().replace(b"blk.1.ffn_up", b"blk.0.ffn_up"))

    return [
        *(BadAdapter(name, replace(good, tensors=tensors).write, words) for name, (tensors, words) in bad.items()),
        BadAdapter("one-tensor-twice", twice, f"{a} is there twice"),
    ]
