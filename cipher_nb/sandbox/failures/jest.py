"""jest, and vitest where it writes alike."""

from __future__ import annotations

import re
from collections.abc import Iterator

from cipher_nb.sandbox.failures.failure import Failure, Place, innermost, lines_of

_TITLE = re.compile(r"^  ● (.+)$")
_FILE = re.compile(r"^\s*FAIL\s+(?:\./)?(\S+\.\w+)")
_EXPECTED = re.compile(r"^\s*Expected(?: \w+)*: (.+)$")
_RECEIVED = re.compile(r"^\s*Received(?: \w+)*: (.+)$")
_STATEMENT = re.compile(r"^\s*> (\d+) \| (.*)$")
_CALL = re.compile(r"^\s+at (?:.+ \()?(?:\./)?([^\s():]+):(\d+):\d+\)?$")
_NOT_A_TEST = ("Console", "Test suite failed to run")


def read_jest(output: str) -> tuple[Failure, ...]:
    """Return the failed tests of jest, each once though it lists them again at the end."""
    return tuple({(failure.file, failure.test, failure.message): failure for failure in _failures(output)}.values())


def _failures(output: str) -> Iterator[Failure]:
    file, title, block = "", "", list[str]()
    for line in [*output.splitlines(), "  ● Console"]:
        named, titled = _FILE.match(line), _TITLE.match(line)
        if named or titled:
            if title and title != "Console":
                yield _from_block(file, title, block)
            title, block = (titled[1].strip() if titled else ""), []
        file = named[1] if named else file
        block.append(line)


def _from_block(file: str, title: str, block: list[str]) -> Failure:
    calls = [Place(call[1], int(call[2])) for line in block if (call := _CALL.match(line))]
    place = innermost(reversed(calls))
    marked = next((match for line in block if (match := _STATEMENT.match(line))), None)
    expected = _first(_EXPECTED, block)
    said = "" if expected else next((line.strip() for line in block[1:] if line.strip()), "")
    return Failure(
        file=place.file or file,
        line=place.line or (int(marked[1]) if marked else 0),
        test="" if title in _NOT_A_TEST else title,
        expected=expected,
        found=_first(_RECEIVED, block),
        message=lines_of(marked[2].strip() if marked else "", said),
    )


def _first(pattern: re.Pattern[str], lines: list[str]) -> str:
    return next((match[1] for line in lines if (match := pattern.match(line))), "")
