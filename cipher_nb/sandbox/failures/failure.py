"""One failure, and the place that tells most about it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Failure:
    """One thing that a check found wrong; what its output does not say is "" (line: 0).

    `file` is relative to the project. `message` may have several lines: the statement that failed, and what was said.
    """

    file: str = ""
    line: int = 0
    test: str = ""
    expected: str = ""
    found: str = ""
    message: str = ""


@dataclass(frozen=True)
class Place:
    """A line of code in a trace, with its text where the trace shows it."""

    file: str = ""
    line: int = 0
    statement: str = ""


def innermost(places: Iterable[Place]) -> Place:
    """Return the last place in the project's own files, or else the last one; an empty one where there is none."""
    known = list(places)
    own = [place for place in known if is_own(place.file)]
    return (own or known or [Place()])[-1]


def is_own(file: str) -> bool:
    """Say whether a path in an output is the project's: relative, and not of an installed package."""
    foreign = file.startswith(("/", "..", "<", "node:")) or not file
    return not foreign and not any(part in file for part in ("site-packages/", "node_modules/"))


def lines_of(*texts: str) -> str:
    """Join the texts that are not empty, one a line, each once."""
    return "\n".join(dict.fromkeys(text for text in texts if text))
