"""What a GGUF file says about itself: the numbers by which adapter and base are compared, and its tensors."""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from cipher_nb.errors import ModelError
from cipher_nb.files import sha256_of
from cipher_nb.training.base.header import FLOAT32, TEXT, Header, Tensor, Value, read_header

BASE_SHA256 = "cipher_nb.base_sha256"
"""A key of ours in adapter files; llama.cpp passes over it."""


@dataclass(frozen=True)
class Metadata:
    """A number the file does not give is 0, a text it does not give is empty.

    `kind` is "adapter" for adapters, and then `adapter_kind` "lora"; `alpha` is None where it is not given.
    """

    path: Path
    kind: str
    architecture: str
    layers: int
    hidden_size: int
    intermediate_size: int
    vocabulary: int
    heads: int
    kv_heads: int
    pre_tokenizer: str
    adapter_kind: str
    alpha: float | None
    base_sha256: str
    tensors: Mapping[str, Tensor]

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The tensors' (rows, columns)."""
        return {name: tensor.shape for name, tensor in self.tensors.items()}


def read_metadata(path: Path) -> Metadata:
    """Return what `path` says, from its header alone; ModelError when it is no GGUF file, or not a sound one."""
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            return _metadata(path, read_header(content))
    except FileNotFoundError as error:
        raise ModelError(f"{path} does not exist; correct its path, or fetch or export it again") from error
    except OSError as error:
        raise ModelError(f"{path} cannot be read ({error.strerror}); name a GGUF file") from error
    except (ValueError, struct.error, OverflowError) as error:
        raise ModelError(f"{path} is no GGUF file, or a damaged one ({error}); fetch or export it again") from error


def read_arrays(metadata: Metadata) -> Iterator[tuple[str, Any]]:
    """Yield name and values of every tensor, one at a time: float16 as it is, everything else as float32."""
    import numpy as np
    from gguf import GGMLQuantizationType, dequantize

    with metadata.path.open("rb") as file:
        for name, tensor in metadata.tensors.items():
            file.seek(tensor.start)
            content = np.frombuffer(file.read(tensor.size), np.uint8)
            if tensor.type == "F16":
                yield name, content.view(np.float16).reshape(tensor.shape)
            elif tensor.type == "F32":
                yield name, content.view(np.float32).reshape(tensor.shape)
            else:
                rows = content.reshape(tensor.shape[0], -1)
                yield name, dequantize(rows, GGMLQuantizationType[tensor.type]).reshape(tensor.shape)


def fingerprint_of(gguf: Path) -> str:
    """Return the file's SHA-256; read once per process for as long as the file stays the same."""
    found = gguf.stat()
    return _fingerprint(gguf, found.st_ino, found.st_size, found.st_mtime_ns)


@lru_cache(maxsize=16)
def _fingerprint(gguf: Path, inode: int, size: int, mtime_ns: int) -> str:
    return sha256_of(gguf)


def _metadata(path: Path, header: Header) -> Metadata:
    keys = header.keys
    arch = _text(keys, "general.architecture")
    heads = _whole(keys, f"{arch}.attention.head_count")
    return Metadata(
        path=path,
        kind=_text(keys, "general.type"),
        architecture=arch,
        layers=_whole(keys, f"{arch}.block_count"),
        hidden_size=_whole(keys, f"{arch}.embedding_length"),
        intermediate_size=_whole(keys, f"{arch}.feed_forward_length"),
        vocabulary=_whole(keys, f"{arch}.vocab_size") or _whole(keys, "tokenizer.ggml.tokens"),
        heads=heads,
        kv_heads=_whole(keys, f"{arch}.attention.head_count_kv") or heads,
        pre_tokenizer=_text(keys, "tokenizer.ggml.pre"),
        adapter_kind=_text(keys, "adapter.type"),
        alpha=_number(keys, "adapter.lora.alpha"),
        base_sha256=_text(keys, BASE_SHA256),
        tensors=header.tensors,
    )


def _text(keys: Mapping[str, Value], name: str) -> str:
    found = keys.get(name, Value("", TEXT))
    if found.type != TEXT:  # llama.cpp aborts where it expects a text
        raise ValueError(f"{name} is no text")
    return str(found.value)


def _number(keys: Mapping[str, Value], name: str) -> float | None:
    if name not in keys:
        return None
    if keys[name].type != FLOAT32:  # here too
        raise ValueError(f"{name} is no 32-bit float")
    return float(keys[name].value)


def _whole(keys: Mapping[str, Value], name: str) -> int:
    return int(keys[name].value) if name in keys else 0
