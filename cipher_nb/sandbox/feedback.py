"""What the model is told about a failed attempt: which test, where, what was expected and found, what to send next."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

from cipher_nb.sandbox.failures import Failure, find_failures
from cipher_nb.sandbox.hunks import Hunk, concerned_hunks
from cipher_nb.sandbox.outcome import Attempt, CheckResult, Feedback
from cipher_nb.sandbox.plain import inert, plain_output

MAX_CHARS = 1_200
MAX_LINE_CHARS = 160
MAX_FAILURES = 3
SHOWN_BEFORE_CHARS = 40
TAIL_LINES = 6
DIFF_SHARE = 0.4
"""How much of the room a diff may take from the failures where both do not fit."""
SEND_NEXT = "Send the whole proposal again as one JSON object: all edits, made to the files as they were first shown."

_TELLING = re.compile(r"\b(?:error|failed|failure|fatal|cannot|unknown|not found)\b", re.IGNORECASE)


def feedback_for(attempts: Sequence[Attempt], *, clean_start: bool, copy: Path) -> Feedback:
    """Return what to say before the next attempt: about the last one, or in short about all for a clean start.

    `copy` is where the checks ran. The text is at most 1,200 characters and a last line that says what to send, is the
    same for the same failure, and is inert: output of checks is anybody's text.
    """
    told = attempts if clean_start else attempts[-1:]
    room = MAX_CHARS // len(told)
    reports = [_report(attempt, room=room, copy=copy) for attempt in told]
    return Feedback(len(attempts) + 1, inert("\n".join([*reports, SEND_NEXT])), clean_start)


def _report(attempt: Attempt, *, room: int, copy: Path) -> str:
    head = f"Attempt {attempt.number} failed: "
    if attempt.error:
        return _fitting(f"{head}{attempt.error}".splitlines(), room, line_chars=room - 4)
    failed = [_read(check, copy) for check in attempt.checks if not check.passed]
    concerned = concerned_hunks(attempt.diff, [failure for check in failed for failure in check.failures])
    change = list(_change_lines(concerned))
    diff_room = min(len("\n".join(change)), round(room * DIFF_SHARE))
    told = "\n".join(line for check in failed for line in check.lines)
    report = _fitting(f"{head}{told}".splitlines(), room - diff_room - 1)
    return "\n".join(filter(None, [report, _fitting(change, room - len(report) - 1)]))


@dataclass(frozen=True)
class _FailedCheck:
    lines: tuple[str, ...]
    failures: tuple[Failure, ...]


def _read(check: CheckResult, copy: Path) -> _FailedCheck:
    output = plain_output(check.output, copy=copy)
    failures = find_failures(output)
    told = _told(failures) if failures else _telling_lines(output)
    return _FailedCheck((_headline(check), *told), failures)


def _headline(check: CheckResult) -> str:
    limit = round(check.duration_ms / 1000)
    ended = f"ran into the time limit after {limit} s" if check.timed_out else f"exit code {check.exit_code}"
    return f"check `{check.command}`: {ended}"


def _told(failures: Sequence[Failure]) -> list[str]:
    lines = [line for failure in failures[:MAX_FAILURES] for line in _failure_lines(failure)]
    rest = failures[MAX_FAILURES:]
    more = ", ".join(dict.fromkeys(failure.test or f"{failure.file}:{failure.line}" for failure in rest))
    return [*lines, f"and {len(rest)} more: {more}"] if rest else lines


def _failure_lines(failure: Failure) -> Iterator[str]:
    place = f"{failure.file}:{failure.line}" if failure.line else failure.file
    message = failure.message.splitlines()
    if failure.test:
        yield f"{failure.test} failed" + (f" at {place}" if place else "")
    else:
        yield ": ".join(filter(None, [place, *message[:1]]))
        message = message[1:]
    yield from (f"  {line}" for line in message)
    expected, found = _side_by_side(failure.expected, failure.found)
    if expected:
        yield f"  expected: {expected}"
    if found:
        yield f"  found: {found}"


def _side_by_side(expected: str, found: str) -> tuple[str, str]:
    """Return two values cut around the first place where they differ, if they are long."""
    if max(len(expected), len(found)) < MAX_LINE_CHARS - 20:
        return expected, found
    same = takewhile(lambda pair: pair[0] == pair[1], zip(expected, found, strict=False))
    start = sum(1 for _ in same) - SHOWN_BEFORE_CHARS
    return (expected, found) if start <= 0 else (f"…{expected[start:]}", f"…{found[start:]}")


def _change_lines(hunks: Iterable[Hunk]) -> Iterator[str]:
    file = ""
    for hunk in hunks:
        if hunk.file != file:
            yield f"Your change to {hunk.file}:"
        file = hunk.file
        yield from (hunk.header, *hunk.lines)


def _telling_lines(output: str) -> list[str]:
    """Return the lines that speak of an error, or the last ones, of output that no known tool wrote."""
    lines = [line.rstrip() for line in output.splitlines() if line.strip()]
    return [line for line in lines if _TELLING.search(line)][:TAIL_LINES] or lines[-TAIL_LINES:]


def _fitting(lines: Iterable[str], room: int, *, line_chars: int = MAX_LINE_CHARS) -> str:
    """Return as many of the lines as fit into `room` characters, a mark where some are left out."""
    kept, used = list[str](), 0
    for line in lines:
        cut = line if len(line) <= line_chars else f"{line[: line_chars - 1]}…"
        used += len(cut) + 1
        if used + 2 > room:
            return "\n".join([*kept, "…"])
        kept.append(cut)
    return "\n".join(kept)
