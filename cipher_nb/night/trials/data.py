"""What trials train on: the same new pairs for all of them, with as much replay as each one wants."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import ceil
from pathlib import Path
from typing import Any

import orjson

from cipher_nb.battery.families import practice
from cipher_nb.battery.samples import Sample
from cipher_nb.config import BatterySettings
from cipher_nb.errors import CipherError
from cipher_nb.files import read_json, write_atomic, write_json
from cipher_nb.model import Model
from cipher_nb.night.healing import Weak, healing_pairs, weak_categories
from cipher_nb.night.mixing import read_own_replay, replay_prompts
from cipher_nb.night.parts import Parts
from cipher_nb.training.data.dataset import combine
from cipher_nb.training.data.pairs import Pair, collect
from cipher_nb.training.data.rejected import collect_rejected
from cipher_nb.training.data.replay import replay_pairs
from cipher_nb.training.data.replay_file import read_replay_file
from cipher_nb.training.data.store import PairStore

OnProgress = Callable[[int, int], None]


@dataclass(frozen=True)
class Frozen:
    """The new pairs of all trials, and the category that their practice pairs are to heal."""

    target: Weak
    new: tuple[Pair, ...]


def freeze_new(parts: Parts, path: Path, *, scores: Mapping[str, float], asked: str) -> Frozen:
    """Return the workspace's approved pairs and practice for its weakest category.

    They are chosen once: `path` keeps their ids, and not their text, so that what is purged is gone. Work that was
    approved later stays out as long as `asked` (what the base was asked, as a fingerprint) is the same.
    """
    known = _read(path)
    target = Weak(**known["target"]) if known.get("asked") == asked else weakest(parts.config.battery, scores)
    found = [*_approved(parts), *healing_pairs(target, seed=parts.config.battery.seed)]
    if known.get("asked") == asked:
        return Frozen(target, tuple(pair for pair in found if pair.id in set(known["new"])))
    write_json(path, {"asked": asked, "target": asdict(target), "new": [pair.id for pair in found]})
    return Frozen(target, tuple(found))


def turned_down(parts: Parts) -> list[Pair]:
    """Return the answers that the operator rejected."""
    events = parts.bus.read_state()
    found = collect_rejected(events, parts.transcripts.read()).pairs
    return list(PairStore(parts.paths.pairs).without_purged(found, events).pairs)


def weakest(settings: BatterySettings, scores: Mapping[str, float]) -> Weak:
    """Return the category with the worst score, to be healed whether or not it failed."""
    name = min(scores, key=lambda name: (scores[name], name))
    pairs = min(settings.practice_pairs, settings.max_practice_pairs)
    return Weak(name, scores[name], pairs, f"scores {scores[name]:.2f}")


def healthy(settings: BatterySettings, scores: Mapping[str, float], target: str) -> list[str]:
    """Return the categories whose answers are worth holding on to: neither failed nor trained on."""
    failed = {weak.category for weak in weak_categories(settings, scores)}
    return [name for name in scores if name not in failed and name != target]


def base_replay(
    parts: Parts, model: Model, count: int, categories: Sequence[str], *, on_progress: OnProgress
) -> list[Pair]:
    """Return up to `count` answers of the base, to what a night would ask it where `categories` are healthy."""
    prompts = replay_prompts(parts.config, count, healthy=categories)
    return replay_pairs(model, prompts, path=parts.base_answers, on_progress=on_progress)


def file_replay(parts: Parts, count: int, categories: Sequence[str], *, path: Path) -> list[Pair]:
    """Return what stands in the operator's replay file; where they have none, in one that is written to `path`.

    That one stands in for old verified work: up to `count` practice questions of `categories` with the right answers.
    """
    own = read_own_replay(parts)
    if own is not None:
        return own
    rows = [
        {"messages": [*sample.messages, {"role": "assistant", "content": sample.reference}]}
        for sample in _spread(parts, categories, count)
    ]
    write_atomic(path, b"".join(orjson.dumps(row) + b"\n" for row in rows))
    return read_replay_file(path)


def mixed(
    parts: Parts,
    frozen: Frozen,
    replay: Sequence[Pair],
    *,
    share: float,
    sealed: Sequence[Sample],
    rejected: Sequence[Pair] = (),
) -> list[Pair]:
    """Return the new pairs and as much of `replay` as makes `share`, then the rejected ones, screened as at night."""
    dataset = combine(
        frozen.new,
        replay,
        share=share,
        seed=0,
        sealed_texts=[sample.user_text for sample in sealed],
        secrets=parts.config.bus.secrets,
        rejected=rejected,
    )
    return [*dataset.pairs, *dataset.rejected]


def fingerprint(*parts: Any) -> str:
    """Return 16 hex digits that stand for plain JSON types."""
    return hashlib.sha256(orjson.dumps(parts, option=orjson.OPT_SORT_KEYS)).hexdigest()[:16]


def _spread(parts: Parts, categories: Sequence[str], count: int) -> list[Sample]:
    each = ceil(count / max(1, len(categories)))
    found = [practice(name, each, seed=parts.config.battery.seed) for name in categories]
    return [sample for turn in zip(*found, strict=True) for sample in turn][:count]


def _approved(parts: Parts) -> list[Pair]:
    """Return what a night that looks back to the beginning would find; the store is not touched."""
    events = parts.bus.read_state()
    found = collect(events, parts.transcripts.read(), since=None).pairs
    return list(PairStore(parts.paths.pairs).without_purged(found, events).pairs)


def _read(path: Path) -> dict[str, Any]:
    try:
        return dict(read_json(path))
    except (FileNotFoundError, CipherError):
        return {}
