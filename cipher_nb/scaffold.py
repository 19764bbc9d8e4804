"""The system text: sections laid out within a hard budget of lines and bytes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from cipher_nb.config import ScaffoldSettings
from cipher_nb.errors import ConfigError, suggestion


@dataclass(frozen=True)
class Budget:
    """How much text a system slot may hold; `max_bytes` counts UTF-8, line ends included."""

    max_lines: int
    max_bytes: int

    def holds(self, lines: int, bytes: int) -> bool:
        return lines <= self.max_lines and bytes <= self.max_bytes


MICRO = Budget(max_lines=24, max_bytes=640)
DROPPED_FIRST = ("learned", "workspace context", "memory")


@dataclass(frozen=True)
class Section:
    """Some lines of the system text, best first. A required section is never shortened."""

    name: str
    lines: tuple[str, ...]
    required: bool = False


@dataclass(frozen=True)
class Scaffold:
    """The composed text, its size, and the lines that found no room, first dropped first."""

    text: str
    lines: int
    bytes: int
    dropped: tuple[str, ...]


def compose(sections: Sequence[Section], budget: Budget) -> Scaffold:
    """Return the sections in the order given, shortened by whole lines until they fit the budget.

    Learned lines go first, from the last (lowest rank) up, then workspace context, then memory, then any other
    section. Raises ConfigError when the required sections alone do not fit.
    """
    _refuse_oversized([section for section in sections if section.required], budget)
    kept = [list(section.lines) for section in sections]
    lines, size = _size(line for section in kept for line in section)
    dropped: list[str] = []
    for place in sorted(range(len(sections)), key=lambda place: _drop_rank(sections[place])):
        while kept[place] and not sections[place].required and not budget.holds(lines, size):
            line = kept[place].pop()
            lines, size = lines - 1, size - len(line.encode()) - 1
            dropped.append(line)
    text = "\n".join(line for section in kept for line in section)
    return Scaffold(text, lines, len(text.encode()), tuple(dropped))


def compose_scaffold(settings: ScaffoldSettings, learned_lines: Sequence[str], context: Sequence[str] = ()) -> Scaffold:
    """Return the system text of a workspace: doctrine, memory, learned lines, workspace context.

    `learned_lines` are whole (`[learned] …`), best first; `context` follows the configured context lines.
    """
    sections = (
        Section("doctrine", tuple(settings.doctrine.splitlines()), required=True),
        Section("memory", _headed("memory", settings.memory)),
        Section("learned", tuple(learned_lines)),
        Section("workspace context", _headed("workspace context", (*settings.context, *context))),
    )
    return compose(sections, _tier(settings))


def tiers(settings: ScaffoldSettings) -> dict[str, Budget]:
    """Return the budget of every tier: micro, which is fixed, and the two that cipher.toml sets."""
    return {
        "micro": MICRO,
        "small": Budget(settings.small_lines, settings.small_bytes),
        "large": Budget(settings.large_lines, settings.large_bytes),
    }


def _tier(settings: ScaffoldSettings) -> Budget:
    known = tiers(settings)
    if settings.tier not in known:
        raise ConfigError(f"[scaffold] tier = {settings.tier!r} is unknown; {suggestion(settings.tier, known)}")
    return known[settings.tier]


def _refuse_oversized(required: Sequence[Section], budget: Budget) -> None:
    lines, size = _size(line for section in required for line in section.lines)
    if not budget.holds(lines, size):
        names = ", ".join(section.name for section in required)
        raise ConfigError(
            f"[scaffold] {names} needs {lines} lines and {size} bytes, but the budget is "
            f"{budget.max_lines} lines and {budget.max_bytes} bytes; shorten it or choose a larger tier"
        )


def _size(lines: Iterable[str]) -> tuple[int, int]:
    """Return how many lines there are, and the bytes of their text."""
    sizes = [len(line.encode()) + 1 for line in lines]
    return len(sizes), max(0, sum(sizes) - 1)


def _headed(name: str, lines: Sequence[str]) -> tuple[str, ...]:
    flat = (" ".join(line.split()) for line in lines)
    return tuple(f"[{name}] {line}" for line in flat if line)


def _drop_rank(section: Section) -> int:
    return DROPPED_FIRST.index(section.name) if section.name in DROPPED_FIRST else len(DROPPED_FIRST)
