"""The night's mix: the operator's work, practice for what failed, and replay, frozen into its dataset."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from pathlib import Path

from cipher_nb.battery.families import CATEGORIES, practice
from cipher_nb.config import Config
from cipher_nb.engine import swap
from cipher_nb.engine.steady import SteadyServers
from cipher_nb.night.folder import NightFolder, Progress
from cipher_nb.night.healing import Weak, healing_pairs
from cipher_nb.night.parts import Parts
from cipher_nb.night.work import Work
from cipher_nb.training.data.dataset import Dataset, combine, freeze, replay_wanted
from cipher_nb.training.data.general_prompts import GENERAL_PROMPTS
from cipher_nb.training.data.pairs import Pair
from cipher_nb.training.data.replay import Prompt, general_prompts, replay_pairs
from cipher_nb.training.data.replay_file import read_replay_file

REPLAY_SPARE = 0.05
"""How much more replay is asked for than the mix needs, for answers that are empty or repeat each other."""
MOST_PRACTICE = 512
"""How many practice questions a category gives at the most: every one has that many."""


def mix(
    parts: Parts,
    folder: NightFolder,
    work: Work,
    weak: Sequence[Weak],
    *,
    model: SteadyServers,
    own_replay: Sequence[Pair] | None,
) -> Dataset:
    """Freeze the dataset of the night; replay is `own_replay`, or where that is None what the base answers."""
    settings = parts.config.training
    practised = [pair for each in weak for pair in healing_pairs(each, seed=parts.config.battery.seed)]
    learned = [*work.pairs, *practised]
    dataset = combine(
        learned,
        _base_replay(parts, folder, model, len(learned), weak) if own_replay is None else own_replay,
        share=settings.replay_share,
        seed=settings.seed,
        sealed_texts=work.sealed_texts,
        secrets=parts.config.bus.secrets,
        trained_before=work.trained_before,
        left_out=work.left_out,
        rejected=work.rejected,
    )
    freeze(dataset, folder.dataset)
    return dataset


def read_own_replay(parts: Parts) -> list[Pair] | None:
    """Return what stands in the operator's own file of replay, None where they have none."""
    name = parts.config.training.replay_file
    return read_replay_file(parts.paths.root / Path(name).expanduser()) if name else None


def _base_replay(
    parts: Parts, folder: NightFolder, model: SteadyServers, learned: int, weak: Sequence[Weak]
) -> list[Pair]:
    """Return the base's answers: as many as `learned` pairs want, and a few for those that cannot be used."""
    wanted = replay_wanted(learned, share=parts.config.training.replay_share)
    failed = {each.category for each in weak}
    healthy = [name for name in parts.config.battery.categories or CATEGORIES if name not in failed]
    model.serve(swap.BASE)
    return replay_pairs(
        model,
        replay_prompts(parts.config, math.ceil(wanted * (1 + REPLAY_SPARE)), healthy=healthy),
        path=parts.base_answers,
        on_progress=Progress(folder, "replay answers of the base"),
    )


def replay_prompts(config: Config, count: int, *, healthy: Collection[str]) -> list[Prompt]:
    """Return general prompts and as many practice questions, more of these where there are not enough of the former.

    The practice is in the `healthy` categories, those that did not fail: the base's own answers hold on to what it can
    do there, where the new pairs could pull it away. Beyond what there is of both, fewer than `count` come back.
    """
    general = min(count - count // 2, len(GENERAL_PROMPTS))
    share = min((count - general) // max(1, len(healthy)), MOST_PRACTICE)
    kept: list[Prompt] = [
        sample.messages for name in healthy for sample in practice(name, share, seed=config.battery.seed)
    ]
    return [*kept, *general_prompts(count - len(kept), seed=config.training.seed)]
