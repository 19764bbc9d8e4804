"""Stages train and export: from the frozen dataset to an adapter in the registry."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from cipher_nb.config import settings_as_json
from cipher_nb.errors import NightStoppedError
from cipher_nb.night.folder import NightFolder, Progress
from cipher_nb.night.parts import Parts
from cipher_nb.training.base import checkpoint_for
from cipher_nb.training.compat import check_adapter
from cipher_nb.training.dataset import read_dataset
from cipher_nb.training.export import export_adapter
from cipher_nb.training.manifest import manifest_of
from cipher_nb.training.qlora import Step, Trained, train


def train_stage(parts: Parts, folder: NightFolder, *, should_stop: Callable[[], bool]) -> dict[str, Any]:
    """Train an adapter from the base on the night's dataset and return losses, time and tokens.

    Raises NightStoppedError when the operator came back, TrainingError when training diverges.
    """
    progress = Progress(folder, "training")

    def on_step(step: Step) -> None:
        progress(step.number, step.total, f"loss {step.loss:.3f}, {step.tokens_per_s:.0f} tokens/s")

    trained = train(
        read_dataset(folder.dataset),
        checkpoint=_checkpoint(parts),
        settings=parts.config.training,
        out=folder.path / "adapter",
        on_step=on_step,
        should_stop=should_stop,
    )
    if trained.stopped:
        raise NightStoppedError("the operator came back during training; the next night trains again")
    return _summary(trained, parts)


def export_stage(parts: Parts, folder: NightFolder) -> dict[str, Any]:
    """Write the adapter as GGUF, check it against the base and take it into the registry under its id."""
    trained = folder.require("train")
    exported = export_adapter(folder.path / "adapter", base_gguf=parts.model(), out_dir=folder.path / "export")
    check_adapter(exported.path, parts.model())
    manifest = manifest_of(
        adapter=exported.id,
        base_gguf=parts.model(),
        pairs=[pair for pair in read_dataset(folder.dataset) if pair.id in set(trained["pair_ids"])],
        settings=parts.config.training,
        losses=trained["losses"],
    )
    path = parts.registry.add(exported.id, exported.path, manifest={**manifest, "night": folder.run_id})
    exported.path.unlink(missing_ok=True)
    return {"adapter": exported.id, "bytes": path.stat().st_size}


def _checkpoint(parts: Parts) -> Path:
    if parts.config.training.base:
        return Path(parts.config.training.base).expanduser()
    return checkpoint_for(parts.model(), cache=parts.cache)


def _summary(trained: Trained, parts: Parts) -> dict[str, Any]:
    row = {key: value for key, value in asdict(trained).items() if key not in ("adapter_dir", "stopped")}
    return {**row, "settings": settings_as_json(parts.config.training)}
