"""unittest, as `python -m unittest` writes it."""

from __future__ import annotations

import re
from dataclasses import replace

from cipher_nb.sandbox.failures.claims import has_literal_left
from cipher_nb.sandbox.failures.failure import Failure, innermost, lines_of
from cipher_nb.sandbox.failures.tracebacks import read_trace

_HEAD = re.compile(r"^(?:FAIL|ERROR): (\S+)(?: \((.+?)\))?")
_RULE = "=" * 70
_THIN_RULE = "-" * 70
_DIFFERS = re.compile(r"^AssertionError: (?:\w+ differ: )?(.+) != (.+?)(?: : (.+))?$")
_TRUTH = re.compile(r"^AssertionError: (.+) is not (true|false)(?: : (.+))?$")
_NOT_RAISED = re.compile(r"^AssertionError: (\w+) not raised")


def read_unittest(output: str) -> tuple[Failure, ...]:
    """Return the failures and errors that unittest lists."""
    blocks = output.split(f"{_RULE}\n")[1:]
    return tuple(_from_block(head, block) for block in blocks if (head := _HEAD.match(block)))


def _from_block(head: re.Match[str], block: str) -> Failure:
    parts = block.split(f"{_THIN_RULE}\n")
    trace = read_trace(parts[1].splitlines() if len(parts) > 1 else [])
    name, where = head[1], head[2] or ""
    test = where if where.endswith(name) else ".".join(filter(None, (where, name)))
    if trace is None:
        return Failure(test=test, message=block.strip())
    place = innermost(trace.places)
    failure = Failure(place.file, place.line, test)
    return _judged(failure, trace.message, place.statement)


def _judged(failure: Failure, message: tuple[str, ...], statement: str) -> Failure:
    if differs := _DIFFERS.match(message[0]):
        first, second = differs[1], differs[2]
        expected, found = (first, second) if has_literal_left(statement) else (second, first)
        return replace(failure, expected=expected, found=found, message=lines_of(statement, differs[3] or ""))
    if truth := _TRUTH.match(message[0]):
        return replace(
            failure, expected=f"a {truth[2]} value", found=truth[1], message=lines_of(statement, truth[3] or "")
        )
    if raised := _NOT_RAISED.match(message[0]):
        return replace(failure, expected=raised[1], found="no exception", message=statement)
    return replace(failure, message=lines_of(statement, *message))
