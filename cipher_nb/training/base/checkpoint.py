"""The served GGUF as a plain transformers checkpoint, so that what trains is what serves."""

from __future__ import annotations

import contextlib
import io
import shutil
from pathlib import Path
from typing import Any

from cipher_nb.errors import ModelError, TrainingError
from cipher_nb.files import locked, sha256_of, sync_folder, write_json
from cipher_nb.training.base.metadata import Metadata, read_metadata
from cipher_nb.training.libraries import prepare_libraries

MANIFEST = "manifest.json"


def checkpoint_for(gguf: Path, *, cache: Path) -> Path:
    """Return the folder of a transformers checkpoint (float32, with tokenizer) that equals `gguf` exactly.

    Made once and kept in `cache` under the file's SHA-256; needs four bytes per parameter there. Raises ModelError for
    an unreadable GGUF, TrainingError for one whose tokenizer is not known here, or when there is no room.
    """
    if not gguf.is_file():
        raise ModelError(f"{gguf} does not exist; fetch the model or correct its path")
    digest = sha256_of(gguf)
    folder = cache / "checkpoints" / digest[:16]
    if (folder / MANIFEST).exists():
        return folder
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with locked(folder, timeout_s=600):
            if not (folder / MANIFEST).exists():
                _build(gguf, digest, folder)
    except OSError as error:
        raise TrainingError(f"cannot keep the dequantised model in {folder} ({error}); make room there") from error
    return folder


def _build(gguf: Path, digest: str, folder: Path) -> None:
    metadata = read_metadata(gguf)
    scratch = folder.with_name(f".{folder.name}.tmp")
    for leftover in (scratch, folder):
        shutil.rmtree(leftover, ignore_errors=True)
    scratch.mkdir()
    prepare_libraries()
    _tokenizer(gguf, metadata).save_pretrained(scratch)
    _dequantised(gguf).save_pretrained(scratch)
    write_json(scratch / MANIFEST, {"gguf_sha256": digest, "gguf_name": gguf.name})
    scratch.rename(folder)
    sync_folder(folder.parent)


def _dequantised(gguf: Path) -> Any:
    import torch
    from transformers import AutoModelForCausalLM

    try:
        # its progress bar has no switch
        with contextlib.redirect_stderr(io.StringIO()):
            loaded = AutoModelForCausalLM.from_pretrained(gguf.parent, gguf_file=gguf.name, dtype=torch.float32)
    except (ValueError, KeyError, NotImplementedError) as error:
        raise TrainingError(
            f"{gguf.name} cannot be dequantised ({error}); name a checkpoint in [training] base"
        ) from error
    # the loaded model counts as quantised and can neither be saved nor combined with NF4: a fresh one holds its weights
    config = loaded.config
    del config.quantization_config
    config._name_or_path = gguf.name
    with torch.device("meta"):
        fresh = AutoModelForCausalLM.from_config(config)
    fresh.load_state_dict(loaded.state_dict(), assign=True)
    fresh.tie_weights()
    return fresh


def _tokenizer(gguf: Path, metadata: Metadata) -> Any:
    from tokenizers.pre_tokenizers import ByteLevel, Digits, Sequence
    from transformers import AutoTokenizer

    if metadata.pre_tokenizer != "smollm":
        raise TrainingError(
            f"{gguf.name} splits text by the rule {metadata.pre_tokenizer!r}, and only 'smollm' is known here; "
            "name the model's transformers checkpoint in [training] base"
        )
    tokenizer = AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name)
    # GGUF only names the rule, and transformers does not look: every digit stands alone
    split = [Digits(individual_digits=True), ByteLevel(add_prefix_space=False, use_regex=True)]
    tokenizer.backend_tokenizer.pre_tokenizer = Sequence(split)
    return tokenizer
