"""Whom else a candidate is held against, so that many small accepted drops cannot add up."""

from __future__ import annotations

from cipher_nb.engine import swap
from cipher_nb.night.measure import stored
from cipher_nb.night.parts import Parts


def anchors(parts: Parts, *, production: str) -> dict[str, str]:
    """Return the anchors by name: the base, and the best that ever was production; none that is production itself."""
    best = best_ever(parts)
    named = {"base": swap.BASE} if best == swap.BASE else {"base": swap.BASE, "best ever": best}
    return {name: adapter for name, adapter in named.items() if adapter != production}


def best_ever(parts: Parts) -> str:
    """Return which of all that once was production has the best composite, on the questions they were all asked.

    Those without answers on record for the present battery are passed over.
    """
    held = dict.fromkeys((swap.BASE, *parts.registry.state().held))
    known = {adapter: found for adapter in held if (found := stored(parts, adapter)).rows}
    common = set.intersection(*({row.sample for row in found.rows} for found in known.values())) if known else set()
    composites = {adapter: found.only(common).exact_composite() for adapter, found in known.items() if common}
    return max(composites, key=composites.__getitem__, default=swap.BASE)
