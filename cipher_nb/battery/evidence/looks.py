"""When the gate looks at the answers, and how much of the 5 % of error each look may spend."""

from __future__ import annotations

from dataclasses import dataclass

from cipher_nb.battery.evidence.betting import ERROR

LOOKS = 5
EXPONENT = 3
"""Kim and DeMets' power family (Biometrika 1987): by the time a share t is asked, t**3 of the error is spent."""


@dataclass(frozen=True)
class Look:
    """A look at the first `n` samples of every category, at `level`."""

    n: int
    level: float


Plan = tuple[Look, ...]


def plan(full: int) -> Plan:
    """Return looks at `full` samples a category and at a half, a quarter … of them, which spend 5 % together.

    Since the chance of an error at any look is at most the sum over the looks, it holds however the looks depend on
    each other, which samples are asked after one, and why it ended early. Most is kept for the last look: it has 4.4 %.
    """
    sizes = sorted({max(1, full >> halvings) for halvings in range(LOOKS)})
    spent = [ERROR * (size / full) ** EXPONENT for size in sizes]
    return tuple(Look(size, now - before) for size, now, before in zip(sizes, spent, [0.0, *spent[:-1]], strict=True))


def single(n: int) -> Plan:
    """Return the plan of somebody who looks once."""
    return (Look(n, ERROR),)
