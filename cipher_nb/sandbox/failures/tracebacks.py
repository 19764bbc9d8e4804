"""Python's own tracebacks, and the places that a SyntaxError names without one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from cipher_nb.sandbox.failures.failure import Failure, Place, innermost, lines_of

_HEAD = "Traceback (most recent call last):"
_FRAME = re.compile(r'^\s*File "(.+)", line (\d+)(?:, in .*)?$')
_RAISED = re.compile(r"^[A-Za-z_][\w.]*(?:Error|Exception|Exit|Interrupt|Warning|Iteration|Group)\b")


@dataclass(frozen=True)
class Trace:
    """The frames of a traceback, the outermost first, and the lines that say what was raised."""

    places: tuple[Place, ...]
    message: tuple[str, ...]


def read_traceback(output: str) -> tuple[Failure, ...]:
    """Return the exception that ended a Python program."""
    trace = read_trace(output.splitlines())
    if trace is None:
        return ()
    place = innermost(trace.places)
    return (Failure(place.file, place.line, message=lines_of(place.statement, *trace.message)),)


def read_trace(lines: Sequence[str]) -> Trace | None:
    """Return the last traceback in `lines`, the one that was not handled, or None."""
    starts = [number for number, line in enumerate(lines) if line.strip() == _HEAD]
    rest = lines[starts[-1] + 1 :] if starts else lines
    places: list[Place] = []
    for number, line in enumerate(rest):
        if frame := _FRAME.match(line):
            places.append(Place(frame[1], int(frame[2]), _statement(rest[number + 1 : number + 2])))
        elif places and (starts or _RAISED.match(line)) and line and not line[0].isspace():
            return Trace(tuple(places), tuple(_message(rest[number:])))
    return None


def _statement(following: Iterable[str]) -> str:
    return next((line.strip() for line in following if not _FRAME.match(line) and line.startswith("    ")), "")


def _message(lines: Sequence[str]) -> list[str]:
    """Return what was raised, up to the first empty line."""
    end = next((number for number, line in enumerate(lines) if not line), len(lines))
    return [line.rstrip() for line in lines[:end]]
