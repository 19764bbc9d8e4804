"""The export of an adapter, step by step: read, lay out (or let the operator's script do it), write, check, publish."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cipher_nb.errors import ExportError
from cipher_nb.files import sync_folder
from cipher_nb.training.base.metadata import fingerprint_of, read_metadata
from cipher_nb.training.compat import check_adapter
from cipher_nb.training.export.config import read_config
from cipher_nb.training.export.layout import Dtype, Tensors, lay_out, read_weights
from cipher_nb.training.export.script import Converter, convert
from cipher_nb.training.export.write import Adapter, write_adapter


@dataclass(frozen=True)
class Exported:
    """The adapter's id, which stands in the file as `adapter.lora.task_name`, and the file."""

    id: str
    path: Path


def export_adapter(
    adapter_dir: Path,
    *,
    base_gguf: Path,
    out_dir: Path,
    dtype: Dtype = "f32",
    converter: Converter | None = None,
) -> Exported:
    """Write `<id>.gguf` to `out_dir` (atomically) and return it; the same adapter gives the same file.

    The id is the start of a SHA-256 over base, alpha and tensors. With `converter` the operator's script lays out the
    tensors; the file says the same of itself. Raises ExportError, naming it, for anything that GGUF cannot hold and for
    a full disk, IncompatibleAdapterError when the adapter was not trained on this base, ModelError for a broken base.
    """
    base, config = read_metadata(base_gguf), read_config(adapter_dir)
    weights = read_weights(adapter_dir)
    try:
        if converter:
            tensors = convert(adapter_dir, config, converter, dtype=dtype)
            _require_all(tensors, weights, converter)
        else:
            tensors = lay_out(weights, config, base, dtype=dtype)
        adapter = Adapter(config.written_alpha, tensors, base, fingerprint_of(base_gguf))
        return Exported(adapter.id, _publish(adapter, out_dir))
    except OSError as error:
        raise ExportError(f"no adapter could be written to {out_dir} ({error}); make room, and export again") from error


def _require_all(tensors: Tensors, weights: Mapping[str, Any], converter: Converter) -> None:
    if len(tensors) != len(weights):
        raise ExportError(
            f"{converter.script} wrote {len(tensors)} tensors of {len(weights)}; leave [training] convert_script empty"
        )


def _publish(adapter: Adapter, out_dir: Path) -> Path:
    path, scratch = out_dir / f"{adapter.id}.gguf", out_dir / f".{adapter.id}.tmp"
    scratch.mkdir(parents=True, exist_ok=True)
    try:
        write_adapter(adapter, scratch / path.name)
        check_adapter(scratch / path.name, adapter.base.path)
        (scratch / path.name).replace(path)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    sync_folder(out_dir)
    return path
