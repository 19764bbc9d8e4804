"""Stages train and export: from the frozen dataset to an adapter in the registry."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from cipher_nb.adapters.state import Mark
from cipher_nb.config import settings_as_json
from cipher_nb.errors import NightStoppedError, TrainingError
from cipher_nb.night.folder import NightFolder, Progress
from cipher_nb.night.parts import Parts
from cipher_nb.records import format_ts
from cipher_nb.training.data.dataset import read_dataset
from cipher_nb.training.export import Converter, export_adapter
from cipher_nb.training.manifest import manifest_of
from cipher_nb.training.qlora.loop import Step
from cipher_nb.training.qlora.train import Trained, train


def train_stage(
    parts: Parts,
    folder: NightFolder,
    *,
    should_stop: Callable[[], bool],
    on_step: Callable[[Step], None] | None = None,
) -> dict[str, Any]:
    """Train an adapter from the base on the night's dataset and return losses, time and tokens.

    The run is kept in the night's folder, and one that is there goes on. Raises NightStoppedError when the operator
    came back, TrainingError when training diverges or memory or disk run out.
    """
    progress = Progress(folder, "training")

    def tell(step: Step) -> None:
        progress(step.number, step.total, f"loss {step.loss:.3f}, {step.tokens_per_s:.0f} tokens/s")
        if on_step:
            on_step(step)

    adapter = folder.path / "adapter"
    trained = train(
        read_dataset(folder.dataset),
        checkpoint=parts.checkpoint(),
        settings=parts.config.training,
        out=adapter,
        on_step=tell,
        should_stop=should_stop,
        keep_in=folder.training,
    )
    if trained.stopped:
        raise NightStoppedError(
            f"the operator came back during training; the next night goes on after step {trained.steps}"
        )
    try:
        read_dataset(folder.dataset)
    except TrainingError:  # a purge came meanwhile: what has learned it does not stay
        shutil.rmtree(adapter, ignore_errors=True)
        raise
    return _summary(trained, parts)


def export_stage(parts: Parts, folder: NightFolder) -> dict[str, Any]:
    """Write the adapter as GGUF, check it against the base and take it into the registry under its id."""
    trained = folder.require("train")
    exported = export_adapter(
        folder.path / "adapter", base_gguf=parts.model(), out_dir=folder.path / "export", converter=_converter(parts)
    )
    manifest = manifest_of(
        adapter=exported.id,
        base_gguf=parts.model(),
        pairs=[pair for pair in read_dataset(folder.dataset) if pair.id in set(trained["pair_ids"])],
        settings=parts.config.training,
        losses=trained["losses"],
    )
    path = parts.registry.add(exported.id, exported.path, manifest={**manifest, "night": folder.run_id})
    exported.path.unlink(missing_ok=True)
    try:
        read_dataset(folder.dataset)
    except TrainingError:  # a purge came just before the adapter was there to be marked
        parts.registry.mark({exported.id: Mark(format_ts(parts.clock()), None)})
        raise
    return {"adapter": exported.id, "bytes": path.stat().st_size}


def _converter(parts: Parts) -> Converter | None:
    script = parts.config.training.convert_script
    return Converter(Path(script).expanduser(), parts.checkpoint()) if script else None


def _summary(trained: Trained, parts: Parts) -> dict[str, Any]:
    row = {key: value for key, value in asdict(trained).items() if key not in ("adapter_dir", "stopped")}
    return {**row, "settings": settings_as_json(parts.config.training)}
