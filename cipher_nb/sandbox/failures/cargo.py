"""cargo test: panics of Rust's tests. What rustc refuses to compile reads as `located` reads it."""

from __future__ import annotations

import re

from cipher_nb.sandbox.failures.failure import Failure

_PANIC = re.compile(
    r"^thread '(?P<test>.+?)'(?: \(\d+\))? panicked at (?:'(?P<old>.+)', )?(?P<file>[^\s:]+):(?P<line>\d+):\d+:?$",
    re.MULTILINE,
)
_SIDE = re.compile(r"^\s*(left|right): (.+?),?$", re.MULTILINE)
_MESSAGE_ENDS = re.compile(r"^(?:stack backtrace:|note: |thread '|$)", re.MULTILINE)


def read_cargo(output: str) -> tuple[Failure, ...]:
    """Return the tests that panicked; of `assert_eq!(left, right)` the right side is what was expected."""
    return tuple(_from_panic(panic, output) for panic in _PANIC.finditer(output))


def _from_panic(panic: re.Match[str], output: str) -> Failure:
    start = panic.end() + 1
    end = _MESSAGE_ENDS.search(output, start)
    text = panic["old"] or output[start : end.start() if end else None].strip()
    sides = dict(_SIDE.findall(text))
    return Failure(
        file=panic["file"],
        line=int(panic["line"]),
        test=panic["test"],
        expected=sides.get("right", ""),
        found=sides.get("left", ""),
        message=text.splitlines()[0] if text else "",
    )
