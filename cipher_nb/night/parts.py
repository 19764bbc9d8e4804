"""What a night works with, handed to it by the workspace."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from cipher_nb.adapters.registry import Registry
from cipher_nb.bus import Bus
from cipher_nb.config import Config
from cipher_nb.files import sha256_of
from cipher_nb.paths import Paths
from cipher_nb.records import Clock
from cipher_nb.training.base.checkpoint import checkpoint_for
from cipher_nb.transcripts import Transcripts


@dataclass(frozen=True)
class Parts:
    """The parts of one workspace. `model` finds the GGUF file or raises ModelError."""

    paths: Paths
    config: Config
    bus: Bus
    transcripts: Transcripts
    registry: Registry
    model: Callable[[], Path]
    cache: Path
    clock: Clock

    @cached_property
    def base_sha256(self) -> str:
        """The hash of the model's file, read once: a night names the base many times."""
        return sha256_of(self.model())

    @property
    def base_answers(self) -> Path:
        """Where the base's own answers are kept, those that are replayed."""
        return self.paths.replay / f"{self.base_sha256[:12]}.jsonl"

    def checkpoint(self) -> Path:
        """Return the transformers checkpoint that is trained on: the one that is set, else one made of the model."""
        named = self.config.training.base
        return Path(named).expanduser() if named else checkpoint_for(self.model(), cache=self.cache)
