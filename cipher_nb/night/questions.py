"""What the gate asks: the battery's own categories, the operator's samples, and what must pass."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from cipher_nb.battery.families import CATEGORIES, sealed
from cipher_nb.battery.own import read_own
from cipher_nb.battery.samples import Sample
from cipher_nb.config import Config
from cipher_nb.night.coderun import can_run_code
from cipher_nb.paths import Paths
from cipher_nb.training.data.pairs import Pair
from cipher_nb.training.data.screen import Seen


@dataclass(frozen=True)
class Questions:
    """All samples of every category, in the order in which they are asked, and apart from them what must pass.

    `left_out` counts those whose code nothing on this machine could hold in.
    """

    categories: Mapping[str, tuple[Sample, ...]]
    must_pass: tuple[Sample, ...]
    left_out: int = 0

    @property
    def sizes(self) -> dict[str, int]:
        return {name: len(samples) for name, samples in self.categories.items()}

    @property
    def pinned(self) -> frozenset[str]:
        """The ids of the must-pass samples."""
        return frozenset(sample.id for sample in self.must_pass)

    def all(self) -> list[Sample]:
        return [*self.first(self.sizes), *self.must_pass]

    def first(self, counts: Mapping[str, int]) -> list[Sample]:
        """Return the first so many samples of each category that is named."""
        return [sample for name, count in counts.items() for sample in self.categories[name][:count]]

    def at_most(self, per_category: int) -> list[Sample]:
        """Return the first `per_category` samples of every category, and what must pass."""
        return [*self.first(dict.fromkeys(self.categories, per_category)), *self.must_pass]

    def without(self, retired: Collection[str]) -> Questions:
        kept = {
            name: tuple(sample for sample in samples if sample.id not in retired)
            for name, samples in self.categories.items()
        }
        return replace(self, categories={name: samples for name, samples in kept.items() if samples})


def questions(config: Config, paths: Paths, *, code: bool | None = None) -> Questions:
    """Return what the gate asks under these settings; `code` says whether code can be run, by default as it is here.

    Raises BatteryError for an unknown category or a faulty file.
    """
    settings = config.battery
    own = read_own(paths.battery)
    drawn = {
        name: tuple(sealed(name, settings.per_category, seed=settings.seed))
        for name in settings.categories or CATEGORIES
    }
    for sample in own:
        if not sample.must_pass:
            drawn[sample.category] = (*drawn.get(sample.category, ()), sample)
    asked = Questions(drawn, tuple(sample for sample in own if sample.must_pass))
    return asked if (can_run_code() if code is None else code) else _without_code(asked)


def _without_code(asked: Questions) -> Questions:
    unrun = {sample.id for sample in asked.all() if sample.scorer == "code"}
    kept = asked.without(unrun)
    return replace(kept, must_pass=tuple(s for s in kept.must_pass if s.id not in unrun), left_out=len(unrun))


def leaked(samples: Iterable[Sample], trained: Sequence[Pair]) -> dict[str, str]:
    """Return the samples whose question repeats what was trained on, and the words it repeats.

    That is eight words in a row, or for a shorter question all of it.
    """
    asked = Seen(pair.messages[-1]["content"] for pair in trained)
    said = Seen(text for pair in trained for text in (pair.user_text, pair.response))
    found = ((sample.id, sample.user_text) for sample in samples)
    repeated = {name: said.run_in(text) or (text if asked.is_whole(text) else "") for name, text in found}
    return {name: words for name, words in repeated.items() if words}
