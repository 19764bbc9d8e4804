"""llama.cpp's own convert_lora_to_gguf.py, where the operator names one, instead of our layout of the tensors."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from cipher_nb.errors import ExportError, ModelError
from cipher_nb.training.base.metadata import read_arrays, read_metadata
from cipher_nb.training.export.config import PeftConfig
from cipher_nb.training.export.layout import Dtype, Tensors

_OFFLINE = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "HF_HUB_DISABLE_TELEMETRY": "1", "DO_NOT_TRACK": "1"}


@dataclass(frozen=True)
class Converter:
    """The script, the transformers checkpoint whose config it reads, and how long it may take."""

    script: Path
    checkpoint: Path
    timeout_s: float = 600.0


def convert(adapter_dir: Path, config: PeftConfig, converter: Converter, *, dtype: Dtype) -> Tensors:
    """Return the tensors that the script makes of the adapter; its metadata, which names local folders, stays behind.

    Costs one Python process that imports torch. Raises ExportError when the script fails, takes too long, or
    would get the scale wrong: it knows no alpha of a module's own.
    """
    if config.alpha_pattern or (config.rank_stabilised and config.rank_pattern):
        raise ExportError(
            f"{converter.script} passes over alpha_pattern, and over rank_pattern with use_rslora; "
            "leave [training] convert_script empty"
        )
    if not converter.script.is_file():
        raise ExportError(f"[training] convert_script = {str(converter.script)!r} does not exist; correct the path")
    with tempfile.TemporaryDirectory(prefix="cipher-convert-") as folder:
        made = Path(folder) / "adapter.gguf"
        _run(adapter_dir, converter, dtype, made)
        try:
            return dict(sorted(read_arrays(read_metadata(made))))
        except ModelError as error:
            raise ExportError(f"{converter.script} wrote no adapter ({error})") from error


def _run(adapter_dir: Path, converter: Converter, dtype: Dtype, out: Path) -> None:
    command = [sys.executable, str(converter.script), "--outtype", dtype, "--outfile", str(out)]
    command += ["--base", str(converter.checkpoint), str(adapter_dir)]
    try:
        run = subprocess.run(
            command,
            env={**os.environ, **_OFFLINE},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=converter.timeout_s,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise ExportError(
            f"{converter.script} did not end within {converter.timeout_s:g} s; see what it waits for"
        ) from error
    if run.returncode != 0:
        tail = " | ".join(line.strip() for line in run.stderr.splitlines()[-3:])
        raise ExportError(f"{converter.script} failed with {run.returncode}: {tail or 'it said nothing'}")
