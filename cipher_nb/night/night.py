"""A night as a notebook sees it: one method a stage, each done once and remembered."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from cipher_nb.night.battery import battery_stage
from cipher_nb.night.collect import collect_stage
from cipher_nb.night.folder import NightFolder, went_on_at
from cipher_nb.night.idle import never, returned_since
from cipher_nb.night.judge import gate_stage
from cipher_nb.night.parts import Parts
from cipher_nb.night.publish import changelog_stage, stage_stage
from cipher_nb.night.train import export_stage, train_stage
from cipher_nb.training.qlora.loop import Step


@dataclass(frozen=True)
class Night:
    """The stages of one night. A stage that has its result returns it; one out of turn says what is missing.

    With `stop_when_active` the long stages raise NightStoppedError soon after the operator comes back.
    """

    parts: Parts
    folder: NightFolder
    stop_when_active: bool = False

    def collect(self, *, since_hours: float | None = None, min_new_pairs: int | None = None) -> dict[str, Any]:
        """Freeze the dataset; None takes the value of cipher.toml."""
        settings = self.parts.config.night
        return self._once(
            "collect",
            lambda: collect_stage(
                self.parts,
                self.folder,
                since_hours=settings.since_hours if since_hours is None else since_hours,
                min_new_pairs=settings.min_new_pairs if min_new_pairs is None else min_new_pairs,
                should_stop=self._should_stop(),
            ),
        )

    def train(self, *, on_step: Callable[[Step], None] | None = None) -> dict[str, Any]:
        """Train the adapter, from where an earlier try was stopped or killed; `on_step` hears of every step."""
        result = self._once(
            "train", lambda: train_stage(self.parts, self.folder, should_stop=self._should_stop(), on_step=on_step)
        )
        shutil.rmtree(self.folder.training, ignore_errors=True)
        return result

    def export(self) -> dict[str, Any]:
        return self._once("export", lambda: export_stage(self.parts, self.folder))

    def battery(self) -> dict[str, Any]:
        return self._once("battery", lambda: battery_stage(self.parts, self.folder, should_stop=self._should_stop()))

    def gate(self) -> dict[str, Any]:
        return self._once("gate", lambda: gate_stage(self.folder))

    def stage(self) -> dict[str, Any]:
        return self._once("stage", lambda: stage_stage(self.parts, self.folder))

    def changelog(self) -> dict[str, Any]:
        return self._once("changelog", lambda: changelog_stage(self.parts, self.folder))

    def _once(self, stage: str, do: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        return self.folder.result(stage) or self.folder.finish(stage, do())

    def _should_stop(self) -> Callable[[], bool]:
        if not self.stop_when_active:
            return never
        begun = datetime.fromtimestamp(went_on_at(self.folder), UTC)
        return returned_since(self.parts.bus, self.parts.transcripts, begun)
