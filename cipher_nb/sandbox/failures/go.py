"""go test, with testify's assertions, and panics."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from cipher_nb.sandbox.failures.failure import Failure, Place, innermost

_FAIL = re.compile(r"^\s*--- FAIL: (\S+)")
_ENDED = re.compile(r"^\s*(?:=== |--- |FAIL\b|PASS\b|ok\s)")
_LOG = re.compile(r"^\s+([\w./-]+\.go):(\d+):\s*(.*)$")
_FRAME = re.compile(r"^\t(\S+\.go):(\d+)(?: \+0x[0-9a-f]+)?$")
_TESTIFY = re.compile(r"^\s*(Error Trace|Error|expected|actual\s*|Messages):\s*(.*)$")
_TESTIFY_TRACE = re.compile(r"(\S+\.go):(\d+)")
_SIDES = (
    re.compile(r"(?:=|got:?) (?P<found>.+?)[,;] (?:want|expected):? (?P<expected>.+)$"),
    re.compile(r"(?:want|expected):? (?P<expected>.+?)[,;] (?:got|found):? (?P<found>.+)$", re.IGNORECASE),
)


def read_go(output: str) -> tuple[Failure, ...]:
    """Return the failed tests of `go test`; a test whose subtests failed is told by those."""
    lines = output.splitlines()
    if panic := next((line for line in lines if line.startswith("panic: ")), ""):
        frames = [Place(frame[1], int(frame[2])) for line in lines if (frame := _FRAME.match(line))]
        place = innermost(reversed(frames))
        test = next((head[1] for line in lines if (head := _FAIL.match(line))), "")
        return (Failure(place.file, place.line, test, message=panic.removesuffix(" [recovered]")),)
    return tuple(_from_block(test, block) for test, block in _blocks(lines) if block)


def _blocks(lines: list[str]) -> Iterator[tuple[str, list[str]]]:
    test, block = "", list[str]()
    for line in [*lines, "FAIL"]:
        if _ENDED.match(line):
            if test:
                yield test, block
            head = _FAIL.match(line)
            test, block = (head[1] if head else ""), []
        elif line.strip():
            block.append(line)


def _from_block(test: str, block: list[str]) -> Failure:
    if any("Error Trace:" in line for line in block):
        return _from_testify(test, block)
    log = next((match for line in block if (match := _LOG.match(line))), None)
    if log is None:
        return Failure(test=test, message=block[0].strip())
    failure = Failure(log[1], int(log[2]), test, message=log[3])
    sides = next((match for pattern in _SIDES if (match := pattern.search(log[3]))), None)
    return replace(failure, expected=sides["expected"], found=sides["found"]) if sides else failure


def _from_testify(test: str, block: list[str]) -> Failure:
    told: dict[str, str] = {}
    for line in block:
        if match := _TESTIFY.match(line):
            told.setdefault(match[1].strip(), match[2].strip())
    trace = _TESTIFY_TRACE.search(told.get("Error Trace", ""))
    return Failure(
        file=trace[1] if trace else "",
        line=int(trace[2]) if trace else 0,
        test=test,
        expected=told.get("expected", ""),
        found=told.get("actual", ""),
        message=told.get("Messages") or told.get("Error", ""),
    )
