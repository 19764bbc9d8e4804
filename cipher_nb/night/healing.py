"""Healing per failure: what a category that failed puts into the next dataset."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cipher_nb.battery.families import CATEGORIES, practice
from cipher_nb.battery.rule import MAX_DROP
from cipher_nb.config import BatterySettings
from cipher_nb.night.folder import NightFolder
from cipher_nb.training.data.pairs import Pair

OTHER_WEAK_SHARE = 4
"""The first category gets all of `practice_pairs`; every other one gets one part in this many."""


@dataclass(frozen=True)
class Weak:
    """A category that failed, in production or in the last candidate, and how many practice pairs answer that."""

    category: str
    score: float
    pairs: int
    failure: str


def weak_categories(
    settings: BatterySettings, scores: Mapping[str, float], *, fell: Mapping[str, str] | None = None
) -> list[Weak]:
    """Return what has to heal, worst score first: categories below `fail_below`, and those that `fell` says fell.

    The first gets `practice_pairs`, every other one a quarter of that, until `max_practice_pairs` are given out.
    Categories without a practice side, which are the operator's own, cannot be healed and are left out.
    """
    failures = {name: f"scores {score:.2f}" for name, score in scores.items() if score < settings.fail_below}
    failures |= {name: why for name, why in (fell or {}).items() if name in scores}
    left = settings.max_practice_pairs
    weak: list[Weak] = []
    for name in sorted(failures.keys() & set(CATEGORIES), key=lambda name: (scores[name], name)):
        wanted = settings.practice_pairs // OTHER_WEAK_SHARE if weak else settings.practice_pairs
        pairs = min(wanted, left)
        if pairs > 0:
            weak.append(Weak(name, scores[name], pairs, failures[name]))
            left -= pairs
    return weak


def fell_in(night: NightFolder | None) -> dict[str, str]:
    """Return the categories that a night's gate found worse, or below what the rule allows, and by how much."""
    gate = night.result("gate") if night else None
    if night is None or gate is None:
        return {}
    worse = {row["category"] for row in gate["evidence"]["categories"] if row.get("word") == "worse"}
    return {
        row["category"]: f"fell by {-row['delta']:.2f} in night {night.run_id}"
        for row in gate["rule"]["categories"]
        if row["delta"] is not None and (row["category"] in worse or row["delta"] < -MAX_DROP)
    }


def healing_pairs(weak: Weak, *, seed: int) -> list[Pair]:
    """Return practice questions of the category with right answers, labelled with the failure they answer."""
    return [
        Pair(sample.messages, sample.reference, task=sample.id, source=f"practice:{weak.category}")
        for sample in practice(weak.category, weak.pairs, seed=seed)
    ]
