"""The system text: sections laid out within a hard budget of lines and bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cipher_nb.config import ScaffoldSettings
from cipher_nb.errors import ConfigError, suggestion


@dataclass(frozen=True)
class Budget:
    """How much text a system slot may hold; `max_bytes` counts UTF-8, line ends included."""

    max_lines: int
    max_bytes: int


TIERS: Mapping[str, Budget] = {
    "micro": Budget(24, 640),
    "small": Budget(48, 2_048),
    "large": Budget(120, 8_192),
}

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
    dropped: list[str] = []
    for place in sorted(range(len(sections)), key=lambda place: _drop_rank(sections[place])):
        while kept[place] and not sections[place].required and not _fits(_text(kept), budget):
            dropped.append(kept[place].pop())
    text = _text(kept)
    return Scaffold(text, _line_count(text), len(text.encode()), tuple(dropped))


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
    return compose(sections, _tier(settings.tier))


def _refuse_oversized(required: Sequence[Section], budget: Budget) -> None:
    text = _text([section.lines for section in required])
    if not _fits(text, budget):
        names = ", ".join(section.name for section in required)
        raise ConfigError(
            f"[scaffold] {names} needs {_line_count(text)} lines and {len(text.encode())} bytes, but the budget is "
            f"{budget.max_lines} lines and {budget.max_bytes} bytes; shorten it or choose a larger tier"
        )


def _tier(name: str) -> Budget:
    if name not in TIERS:
        raise ConfigError(f"[scaffold] tier = {name!r} is unknown; {suggestion(name, TIERS)}")
    return TIERS[name]


def _headed(name: str, lines: Sequence[str]) -> tuple[str, ...]:
    flat = (" ".join(line.split()) for line in lines)
    return tuple(f"[{name}] {line}" for line in flat if line)


def _drop_rank(section: Section) -> int:
    return DROPPED_FIRST.index(section.name) if section.name in DROPPED_FIRST else len(DROPPED_FIRST)


def _text(sections: Sequence[Sequence[str]]) -> str:
    return "\n".join(line for lines in sections for line in lines)


def _line_count(text: str) -> int:
    return len(text.split("\n")) if text else 0


def _fits(text: str, budget: Budget) -> bool:
    return _line_count(text) <= budget.max_lines and len(text.encode()) <= budget.max_bytes
