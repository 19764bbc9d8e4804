"""Node's own test runner, as TAP and as its spec report, and errors that end a Node program."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import takewhile

from cipher_nb.sandbox.failures.failure import Failure, Place, innermost, lines_of

_NOT_OK = re.compile(r"^\s*not ok \d+ - (.+)$")
_CROSS = re.compile(r"^\s*✖ (.+?)(?: (?:\(.*ms\)|…))?$")
_AT = re.compile(r"^\s*test at (\S+):(\d+):\d+$")
_CALL = re.compile(r"^\s+(?:at )?(?:.+ \()?([^\s():']+\.\w+):(\d+):\d+\)?(?: \{)?$")
_SIDE = re.compile(r"^( *)(expected|actual):(?: (.+?),?)?$")
_LOCATION = re.compile(r"^\s*location: '(.+):(\d+):\d+'$")
_SAID = re.compile(r"^\s*(?:error: '(.+)'|((?:[A-Z]\w*)?Error\b.*))$")
_PROGRAM = re.compile(r"^([^\s:]+\.[cm]?[jt]sx?):(\d+)$", re.MULTILINE)
_RAISED = re.compile(r"^((?:[A-Z]\w*)?Error\b.*)$", re.MULTILINE)


def read_node(output: str) -> tuple[Failure, ...]:
    """Return the failed tests of `node --test`; a test whose subtests failed is told by those."""
    listed = output.partition("✖ failing tests:")[2] or output
    tests = tuple(failure for name, block in _blocks(listed) if (failure := _from_block(name, block)))
    return tests or _from_program(output)


def _blocks(output: str) -> Iterator[tuple[str, list[str]]]:
    name, block = "", list[str]()
    for line in [*output.splitlines(), "✖ "]:
        if head := _NOT_OK.match(line) or _CROSS.match(line):
            yield name, block
            name, block = head[1], []
        elif at := _AT.match(line):
            yield name, block
            name, block = "", [f"location: '{at[1]}:{at[2]}:1'"]
        block.append(line)
    yield name, block


def _from_block(name: str, block: list[str]) -> Failure | None:
    text = "\n".join(block)
    if not name or "subtestsFailed" in text or not (said := _first(_SAID, block) or "ERR_ASSERTION" in text):
        return None
    calls = [Place(call[1], int(call[2])) for line in block if (call := _CALL.match(line))]
    place = innermost(reversed(calls))
    if not place.file and (location := next((m for line in block if (m := _LOCATION.match(line))), None)):
        place = Place(location[1], int(location[2]))
    sides = _sides(block)
    return Failure(
        file=place.file,
        line=place.line,
        test=name,
        expected=sides.get("expected", ""),
        found=sides.get("actual", ""),
        message="" if sides or said is True else str(said),
    )


def _sides(block: list[str]) -> dict[str, str]:
    """Return what was expected and what was actual; TAP writes a value of several lines indented below its name."""
    sides = {}
    for number, line in enumerate(block):
        if side := _SIDE.match(line):
            sides[side[2]] = side[3] or ", ".join(_below(block[number + 1 :], side[1]))
    return sides


def _below(lines: list[str], indent: str) -> list[str]:
    return [line.strip() for line in takewhile(lambda line: line.startswith(f"{indent}  "), lines)]


def _from_program(output: str) -> tuple[Failure, ...]:
    raised = _RAISED.search(output)
    if not raised or "Node.js v" not in output:
        return ()
    calls = [Place(call[1], int(call[2])) for line in output.splitlines() if (call := _CALL.match(line))]
    named = [Place(match[1], int(match[2])) for match in _PROGRAM.finditer(output)]
    place = innermost([*reversed(calls), *named])
    return (Failure(place.file, place.line, message=lines_of(raised[1])),)


def _first(pattern: re.Pattern[str], lines: list[str]) -> str:
    return next((match[1] or match[2] for line in lines if (match := pattern.match(line))), "")
