"""Which trials there are: a grid, more seeds for its best, and single changes beside the SOP's setting."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, get_args, get_type_hints

from cipher_nb.config import TrainingSettings
from cipher_nb.errors import ConfigError, suggestion

REPLAY_SOURCES = ("base", "file")


@dataclass(frozen=True)
class Trial:
    """One training: what differs from the workspace's settings. `replay` is where its replay comes from."""

    lr: float
    replay_share: float
    seed: int = 0
    replay: str = "base"
    load_in_4bit: str = "no"
    rejections: str = "ignore"

    @property
    def setting(self) -> Trial:
        """The trial without its seed: what several seeds have in common."""
        return replace(self, seed=0)

    @property
    def name(self) -> str:
        """The setting in a few words, with what is unusual about it: `5e-4 · 30% from file · NF4 · KTO`."""
        source = " from file" if self.replay == "file" else ""
        others = [
            word for said, word in ((self.load_in_4bit == "yes", "NF4"), (self.rejections == "kto", "KTO")) if said
        ]
        return " · ".join([rate_name(self.lr), f"{self.replay_share:.0%}{source}", *others])

    def settings(self, given: TrainingSettings) -> TrainingSettings:
        """Return `given` with what this trial sets."""
        changed: dict[str, Any] = {name: getattr(self, name) for name in ("lr", "replay_share", "seed")}
        changed |= {name: getattr(self, name) for name in ("load_in_4bit", "rejections")}
        return replace(given, **changed)


SOP_LR, SOP_REPLAY_SHARE = 5e-4, 0.3


def rate_name(lr: float) -> str:
    """Return a learning rate as people write it: `5e-4`."""
    digits, exponent = f"{lr:.6e}".split("e")
    return f"{float(digits):g}e{int(exponent)}"


@dataclass(frozen=True)
class Plan:
    """What is tried and on how much it is measured.

    Every rate with every replay share is trained with `seeds`; then the SOP's setting and the best other one with
    `confirm_seeds`. Of `replay`, `load_in_4bit` and `rejections` the first counts for all of these; each further one is
    tried once, beside the SOP's setting. `per_category` are the sealed samples of each of `categories`, which empty are
    the workspace's own. Raises ConfigError for what cannot be tried.
    """

    rates: Sequence[float] = (1e-4, 2e-4, 5e-4)
    replay_shares: Sequence[float] = (0.0, 0.3, 0.5)
    seeds: Sequence[int] = (0,)
    confirm_seeds: Sequence[int] = (0, 1, 2)
    replay: Sequence[str] = REPLAY_SOURCES
    load_in_4bit: Sequence[str] = ("no", "yes")
    rejections: Sequence[str] = ("ignore", "kto")
    per_category: int = 48
    categories: Sequence[str] = ()

    def __post_init__(self) -> None:
        for name in ("rates", "replay_shares", "seeds", "replay", "load_in_4bit", "rejections"):
            if not getattr(self, name):
                raise ConfigError(f"{name} is empty; name one at least")
        _require("rates", self.rates, lambda rate: rate > 0, "above 0")
        _require("replay_shares", self.replay_shares, lambda share: 0 <= share < 1, "from 0 to below 1")
        _require("per_category", [self.per_category], lambda count: count > 0, "above 0")
        hints = get_type_hints(TrainingSettings)
        _require_known("replay", self.replay, REPLAY_SOURCES)
        for name in ("load_in_4bit", "rejections"):
            _require_known(name, getattr(self, name), get_args(hints[name]))

    @property
    def sop(self) -> Trial:
        """The SOP's setting, with the first seed."""
        return self._trial(SOP_LR, SOP_REPLAY_SHARE, self.seeds[0])

    def grid(self) -> list[Trial]:
        """Return every rate with every share, seed by seed."""
        return [
            self._trial(lr, share, seed) for seed in self.seeds for lr in self.rates for share in self.replay_shares
        ]

    def changes(self) -> list[Trial]:
        """Return the SOP's setting and, one at a time, what is changed about it; nothing where nothing is."""
        changed = [
            replace(self.sop, **{name: value})
            for name in ("replay", "load_in_4bit", "rejections")
            for value in getattr(self, name)[1:]
        ]
        return [self.sop, *changed] if changed else []

    def confirming(self, best: Trial) -> list[Trial]:
        """Return the SOP's setting and `best` with all the seeds that confirm."""
        return [replace(setting, seed=seed) for seed in self.confirm_seeds for setting in (self.sop, best)]

    def greatest_share(self) -> float:
        """Return the greatest share of replay that any trial wants, the SOP's among them where it is tried."""
        return max(trial.replay_share for trial in (*self.grid(), *self.confirming(self.sop), *self.changes()))

    def count(self) -> int:
        """Return how many trainings that makes, at the most."""
        first = {*self.grid(), *self.changes()}
        others = [trial.setting for trial in self.grid() if trial.setting != self.sop.setting]
        return len(first | set(self.confirming(others[0] if others else self.sop)))

    def _trial(self, lr: float, share: float, seed: int) -> Trial:
        return Trial(lr, share, seed, self.replay[0], self.load_in_4bit[0], self.rejections[0])


def _require(name: str, values: Sequence[Any], is_right: Any, wanted: str) -> None:
    for value in values:
        if isinstance(value, bool) or not isinstance(value, int | float) or not is_right(value):
            raise ConfigError(f"{name} holds {value!r}; it must be a number {wanted}")


def _require_known(name: str, values: Sequence[str], known: Sequence[str]) -> None:
    for value in values:
        if value not in known:
            raise ConfigError(f"{name} holds {value!r}, which is unknown; {suggestion(str(value), known)}")
