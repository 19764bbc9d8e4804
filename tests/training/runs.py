"""Training as the operator starts it: a process of its own, on a dataset file."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import orjson

from cipher_nb.training.data.pairs import Pair

CONFIG = """
[training]
epochs = 3
lr = 5e-3
batch_size = 4
"""
FILES = ("adapter_config.json", "adapter_model.safetensors")


def write_dataset(path: Path, pairs: Sequence[Pair]) -> Path:
    rows = [{"dataset": {"pairs": len(pairs)}}, *(pair.to_json() for pair in pairs)]
    path.write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows))
    return path


def arguments(folder: Path, pairs: Sequence[Pair], checkpoint: Path, *, name: str, config: str = CONFIG) -> list[str]:
    """What `python -m cipher_nb.training` is called with to write the adapter `name` into `folder`."""
    folder.joinpath("cipher.toml").write_text(config)
    dataset = write_dataset(folder / "dataset.jsonl", pairs)
    options = {"--checkpoint": checkpoint, "--out": folder / name, "--config": folder / "cipher.toml"}
    return [str(dataset), *(str(part) for option in options.items() for part in option), "--keep-every-s", "0"]


def start(command: Sequence[str]) -> subprocess.Popen[str]:
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    pipe = subprocess.PIPE
    return subprocess.Popen(
        [sys.executable, "-m", *command], stdout=pipe, stderr=pipe, text=True, env=environment, start_new_session=True
    )


def adapter_bytes(folder: Path) -> list[bytes]:
    return [(folder / name).read_bytes() for name in FILES]
