"""What a GGUF file says about itself: the numbers by which adapter and base are compared, and its tensors.

A reader of our own for the header alone: gguf's reads every token of the vocabulary into Python, which takes seconds.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cipher_nb.errors import ModelError

_TEXT, _ARRAY = 8, 9
_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_VERSIONS = (2, 3)


@dataclass(frozen=True)
class Metadata:
    """A number the file does not give is 0, a text it does not give is empty. `shapes` are (rows, columns)."""

    path: Path
    architecture: str
    layers: int
    hidden_size: int
    intermediate_size: int
    vocabulary: int
    heads: int
    kv_heads: int
    pre_tokenizer: str
    shapes: Mapping[str, tuple[int, ...]]


def read_metadata(path: Path) -> Metadata:
    """Return what `path` says; ModelError when it is no GGUF file, or not a whole one."""
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            keys, shapes = _Header(content).read()
    except (ValueError, struct.error, OverflowError) as error:
        raise ModelError(f"{path} is no GGUF file, or cut off ({error}); fetch or export it again") from error
    arch = str(keys.get("general.architecture", ""))
    heads = int(keys.get(f"{arch}.attention.head_count", 0))
    return Metadata(
        path=path,
        architecture=arch,
        layers=int(keys.get(f"{arch}.block_count", 0)),
        hidden_size=int(keys.get(f"{arch}.embedding_length", 0)),
        intermediate_size=int(keys.get(f"{arch}.feed_forward_length", 0)),
        vocabulary=int(keys.get(f"{arch}.vocab_size", keys.get("tokenizer.ggml.tokens", 0))),
        heads=heads,
        kv_heads=int(keys.get(f"{arch}.attention.head_count_kv", heads)),
        pre_tokenizer=str(keys.get("tokenizer.ggml.pre", "")),
        shapes=shapes,
    )


class _Header:
    """Keys and tensor shapes, front to back; an array's value is its length."""

    def __init__(self, content: mmap.mmap) -> None:
        self.content = content
        self.at = 0

    def read(self) -> tuple[dict[str, Any], dict[str, tuple[int, ...]]]:
        if self.content[:4] != b"GGUF":
            raise ValueError("it does not begin with GGUF")
        self.at = 4
        version = self.number("I")
        if version not in _VERSIONS:
            raise ValueError(f"version {version} instead of {_VERSIONS[-1]}")
        tensors, pairs = self.number("Q"), self.number("Q")
        keys = {self.text(): self.value(self.number("I")) for _ in range(pairs)}
        shapes, ends = {}, [0]
        for _ in range(tensors):
            name = self.text()
            sizes = [self.number("Q") for _ in range(self.number("I"))]
            ends.append(_bytes(sizes, self.number("I")) + self.number("Q"))
            shapes[name] = tuple(reversed(sizes))
        alignment = int(keys.get("general.alignment", 32))
        whole = -(-self.at // alignment) * alignment + max(ends)
        if shapes and len(self.content) < whole:
            raise ValueError(f"{len(self.content)} bytes of {whole}")
        return keys, shapes

    def number(self, code: str) -> Any:
        (value,) = struct.unpack_from(f"<{code}", self.content, self.at)
        self.at += struct.calcsize(f"<{code}")
        return value

    def text(self) -> str:
        length = self.number("Q")
        self.at += length
        if self.at > len(self.content):
            raise ValueError("a text reaches past its end")
        return self.content[self.at - length : self.at].decode()

    def value(self, kind: int) -> Any:
        if kind == _TEXT:
            return self.text()
        if kind != _ARRAY:
            return self.number(_scalar(kind))
        element, length = self.number("I"), self.number("Q")
        if element in (_TEXT, _ARRAY):
            for _ in range(length):
                self.value(element)
        else:
            self.at += length * struct.calcsize(f"<{_scalar(element)}")
        return length


def _scalar(kind: int) -> str:
    if kind not in _SCALARS:
        raise ValueError(f"value type {kind} is unknown")
    return _SCALARS[kind]


def _bytes(sizes: list[int], kind: int) -> int:
    from gguf import GGML_QUANT_SIZES, GGMLQuantizationType

    block, block_bytes = GGML_QUANT_SIZES[GGMLQuantizationType(kind)]
    count = 1
    for size in sizes:
        count *= size
    return int(count // block * block_bytes)
