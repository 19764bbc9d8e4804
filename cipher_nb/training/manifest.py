"""What an adapter was made of, to stand beside it."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from cipher_nb.config import TrainingSettings, settings_as_json
from cipher_nb.training.base.metadata import fingerprint_of
from cipher_nb.training.data.pairs import Pair

LIBRARIES = ("cipher-nb", "torch", "transformers", "peft", "bitsandbytes", "safetensors", "tokenizers", "gguf")


def manifest_of(
    *, adapter: str, base_gguf: Path, pairs: Sequence[Pair], settings: TrainingSettings, losses: Sequence[float]
) -> dict[str, Any]:
    """Return plain JSON types: id, base fingerprint, pairs with their event ids, settings, library versions, losses.

    `pairs` are those that were trained on, `Trained.pair_ids` names them; `losses` is one per step.
    """
    return {
        "adapter": adapter,
        "base": {"name": base_gguf.name, "sha256": fingerprint_of(base_gguf)},
        "pairs": [
            {"id": pair.id, "source": pair.source, "task": pair.task, "event_ids": list(pair.event_ids)}
            for pair in pairs
        ],
        "settings": settings_as_json(settings),
        "versions": {name: version(name) for name in LIBRARIES},
        "losses": list(losses),
    }
