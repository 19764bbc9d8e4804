"""The battery's own samples: any number, on the sealed side (the gate's) and on the practice side (for training)."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cache

from cipher_nb.battery.families import (
    agent_contracts,
    agent_loop,
    agent_policy,
    agent_tools,
    byok,
    code,
    command_registry,
    exports,
    handoff,
    keybindings,
    lsp_dap_routes,
    mathematics,
    memory,
    orchestrator,
    plugin_manager,
    reasoning,
    settings,
    training_gate,
    workbench,
)
from cipher_nb.battery.family import Family
from cipher_nb.battery.samples import Sample, Side
from cipher_nb.errors import BatteryError

MODULES = (
    command_registry,
    keybindings,
    settings,
    agent_tools,
    agent_contracts,
    agent_loop,
    agent_policy,
    byok,
    code,
    exports,
    handoff,
    lsp_dap_routes,
    mathematics,
    memory,
    orchestrator,
    plugin_manager,
    reasoning,
    training_gate,
    workbench,
)
FAMILIES: Mapping[str, tuple[Family, ...]] = {module.CATEGORY: module.FAMILIES for module in MODULES}
CATEGORIES = tuple(FAMILIES)
VERSIONED_SAMPLES = 64


def sealed(category: str, count: int, *, seed: int) -> list[Sample]:
    """Return `count` distinct samples that only the gate may ask, its families taking turns.

    A larger count with the same seed begins with the same samples. Raises BatteryError for an unknown category, or
    for more samples than there are.
    """
    return _interleaved(category, count, side="sealed", seed=seed)


def practice(category: str, count: int, *, seed: int) -> list[Sample]:
    """Return `count` distinct samples to train on; none shares its question with a sealed one. Else like `sealed`."""
    return _interleaved(category, count, side="practice", seed=seed)


@cache
def battery_version() -> str:
    """Return 12 hex digits that change whenever a sample does (read off the first sealed samples of every category)."""
    drawn = [sample for category in CATEGORIES for sample in sealed(category, VERSIONED_SAMPLES, seed=0)]
    told = [f"{sample.id} {sample.scorer} {sample.max_tokens}" for sample in drawn]
    return hashlib.sha256("\n".join(told).encode()).hexdigest()[:12]


def _interleaved(category: str, count: int, *, side: Side, seed: int) -> list[Sample]:
    if category not in FAMILIES:
        raise BatteryError(f"category {category!r} is unknown; known: {', '.join(CATEGORIES)}")
    families = FAMILIES[category]
    shares = [len(range(turn, count, len(families))) for turn in range(len(families))]
    drawn = [
        iter(family.samples(category, share, side=side, seed=seed))
        for family, share in zip(families, shares, strict=True)
    ]
    return [next(drawn[index % len(families)]) for index in range(count)]
