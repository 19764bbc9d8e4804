"""The header of a GGUF file: its keys, and where its tensors lie.

A reader of our own: gguf's reads every token of the vocabulary into Python, which takes seconds. As strict as
llama.cpp's, which refuses what repeats itself or does not lie where it should.
"""

from __future__ import annotations

import math
import mmap
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

TEXT, FLOAT32, _UINT32, _ARRAY = 8, 6, 4, 9
_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", _UINT32: "I", 5: "i", FLOAT32: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_VERSIONS = (2, 3)
_MAX_DIMENSIONS = 4
_LENGTH = struct.Struct("<Q")


@dataclass(frozen=True)
class Value:
    """A key's value and its GGUF type; of an array only the length."""

    value: Any
    type: int


@dataclass(frozen=True)
class Tensor:
    """`shape` is (rows, columns), `type` GGML's name such as "F32"; `start` and `size` are bytes of the file."""

    shape: tuple[int, ...]
    type: str
    start: int
    size: int


@dataclass(frozen=True)
class Header:
    keys: Mapping[str, Value]
    tensors: Mapping[str, Tensor]


def read_header(content: mmap.mmap) -> Header:
    """Return the header of a GGUF file; ValueError, struct.error or OverflowError where there is no whole one."""
    reader = _Reader(content)
    if content[:4] != b"GGUF":
        raise ValueError("it does not begin with GGUF")
    version = reader.number("I")
    if version not in _VERSIONS:
        raise ValueError(f"version {version} instead of {_VERSIONS[-1]}")
    tensor_count, key_count = reader.number("Q"), reader.number("Q")
    keys: dict[str, Value] = {}
    for _ in range(key_count):
        _add(keys, reader.text(), reader.value())
    alignment = _alignment(keys.get("general.alignment", Value(32, _UINT32)))
    tensors: dict[str, Tensor] = {}
    end = 0
    for _ in range(tensor_count):
        name, tensor = reader.text(), reader.tensor()
        if tensor.start != end:
            raise ValueError(f"{name} begins at byte {tensor.start} of the data instead of {end}")
        end = _aligned(end + tensor.size, alignment)
        _add(tensors, name, tensor)
    if len(content) < reader.at:
        raise ValueError(f"{len(content)} bytes of at least {reader.at}")
    return Header(keys, _placed(tensors, _aligned(reader.at, alignment), len(content)))


def _alignment(found: Value) -> int:
    if found.type != _UINT32 or found.value.bit_count() != 1:
        raise ValueError(f"general.alignment is {found.value!r} and must be a power of two")
    return int(found.value)


def _add(found: dict[str, Any], name: str, entry: Any) -> None:
    if name in found:
        raise ValueError(f"{name} is there twice")
    found[name] = entry


def _placed(tensors: Mapping[str, Tensor], data: int, length: int) -> dict[str, Tensor]:
    """Count the starts from the beginning of the file, which is `length` bytes long."""
    placed = {
        name: Tensor(tensor.shape, tensor.type, data + tensor.start, tensor.size) for name, tensor in tensors.items()
    }
    whole = max((tensor.start + tensor.size for tensor in placed.values()), default=0)
    if length < whole:
        raise ValueError(f"{length} bytes of {whole}")
    return placed


def _aligned(position: int, alignment: int) -> int:
    return -(-position // alignment) * alignment


class _Reader:
    """Reads front to back from behind the four bytes `GGUF`."""

    def __init__(self, content: mmap.mmap) -> None:
        self.content = content
        self.at = 4

    def number(self, code: str) -> Any:
        (value,) = struct.unpack_from(f"<{code}", self.content, self.at)
        self.at += struct.calcsize(f"<{code}")
        return value

    def text(self) -> str:
        (length,) = _LENGTH.unpack_from(self.content, self.at)
        start = self.at + 8
        self.at = start + length
        if self.at > len(self.content):
            raise ValueError("a text reaches past its end")
        return self.content[start : self.at].decode()

    def value(self) -> Value:
        kind = self.number("I")
        if kind == TEXT:
            return Value(self.text(), kind)
        if kind == _ARRAY:
            return Value(self.array(), kind)
        return Value(self.number(_scalar(kind)), kind)

    def array(self) -> int:
        element, length = self.number("I"), self.number("Q")
        if element != TEXT:
            self.at += length * struct.calcsize(f"<{_scalar(element)}")
            return int(length)
        at, content = self.at, self.content
        for _ in range(length):  # over every token of a vocabulary: no more than a step
            at += 8 + _LENGTH.unpack_from(content, at)[0]
        self.at = at
        return int(length)

    def tensor(self) -> Tensor:
        """Its start counts from the beginning of the data."""
        from gguf import GGML_QUANT_SIZES, GGMLQuantizationType

        dimensions = self.number("I")
        if not 1 <= dimensions <= _MAX_DIMENSIONS:
            raise ValueError(f"a tensor of {dimensions} dimensions instead of up to {_MAX_DIMENSIONS}")
        sizes = [self.number("Q") for _ in range(dimensions)]
        kind = GGMLQuantizationType(self.number("I"))
        block, block_bytes = GGML_QUANT_SIZES[kind]
        if sizes[0] % block:
            raise ValueError(f"a row of {sizes[0]} values is no whole number of {kind.name} blocks")
        return Tensor(
            shape=tuple(reversed(sizes)),
            type=kind.name,
            start=self.number("Q"),
            size=math.prod(sizes) // block * block_bytes,
        )


def _scalar(kind: int) -> str:
    if kind not in _SCALARS:
        raise ValueError(f"value type {kind} is unknown")
    return _SCALARS[kind]
