"""The GGUF file of an adapter: the same content gives the same id and the same bytes."""

from __future__ import annotations

import errno
import hashlib
import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from cipher_nb.errors import ModelError
from cipher_nb.training.base.metadata import BASE_SHA256, Metadata, read_arrays, read_metadata
from cipher_nb.training.export.layout import Tensors


@dataclass(frozen=True)
class Adapter:
    """What is to be written: alpha as llama.cpp reads it, the tensors, and the base they belong to."""

    alpha: float
    tensors: Tensors
    base: Metadata
    base_sha256: str

    @cached_property
    def id(self) -> str:
        """The start of a SHA-256 over base, alpha and tensors."""
        digest = hashlib.sha256(f"{self.base_sha256} {self.alpha!r}".encode())
        for name, array in self.tensors.items():
            digest.update(f"{name} {array.shape}".encode())
            digest.update(array.tobytes())
        return digest.hexdigest()[:12]


def write_adapter(adapter: Adapter, path: Path) -> None:
    """Write the file and bring it to the disk, all of it. Raises OSError.

    The sizes and the base's hash are not llama.cpp's, which passes over them; `check_adapter` reads them.
    """
    from gguf import GGUFWriter

    base = adapter.base
    writer = GGUFWriter(path, base.architecture)
    try:
        writer.add_string("general.type", "adapter")
        writer.add_string("adapter.type", "lora")
        writer.add_float32("adapter.lora.alpha", adapter.alpha)
        writer.add_string("adapter.lora.task_name", adapter.id)
        writer.add_string(BASE_SHA256, adapter.base_sha256)
        writer.add_block_count(base.layers)
        writer.add_embedding_length(base.hidden_size)
        writer.add_feed_forward_length(base.intermediate_size)
        writer.add_vocab_size(base.vocabulary)
        for name, array in adapter.tensors.items():
            writer.add_tensor(name, array)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
    finally:
        writer.close()
    with path.open("rb") as file:
        os.fsync(file.fileno())
    if not _is_whole(adapter, path):
        raise OSError(errno.ENOSPC, "the disk took only a part of it")


def _is_whole(adapter: Adapter, path: Path) -> bool:
    # gguf lets numpy write the tensors, which says nothing when the disk takes less
    try:
        written = dict(read_arrays(read_metadata(path)))
    except ModelError:
        return False
    return all(written[name].tobytes() == array.tobytes() for name, array in adapter.tensors.items())
