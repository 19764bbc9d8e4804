"""What the model is told about a failed attempt: which check, where, what was expected, what to send next."""

from __future__ import annotations

import re
from collections.abc import Sequence

from cipher_nb.sandbox.outcome import Attempt, CheckResult, Feedback

MAX_CHARS = 1_200
MAX_LINES = 12
MAX_LINE_CHARS = 160
TAIL_LINES = 6
SEND_NEXT = "Send the whole proposal again as one JSON object: all edits, made to the files as they were first shown."

_ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
_TELLING = re.compile(
    r"^E\s"  # pytest's assertion lines
    r"|^>\s"  # and the line that failed
    r"|^\s*File \".+\", line \d+"
    r"|^[\w./-]+:\d+:"
    r"|^(FAILED|ERROR)\b"
    r"|^\s*\w*(Error|Exception)\b"
)


def feedback_for(attempts: Sequence[Attempt], *, clean_start: bool) -> Feedback:
    """Return what to say before the next attempt: about the last one, or in short about all for a clean start."""
    told = attempts if clean_start else attempts[-1:]
    room = MAX_CHARS // len(told)
    reports = [_bounded(_report(attempt), room) for attempt in told]
    return Feedback(attempt=len(attempts) + 1, text="\n".join([*reports, SEND_NEXT]), clean_start=clean_start)


def _report(attempt: Attempt) -> str:
    head = f"Attempt {attempt.number} failed"
    if attempt.error:
        return f"{head}: {attempt.error}"
    failed = [check for check in attempt.checks if not check.passed]
    return "\n".join(f"{head}: {_check_report(check)}" for check in failed)


def _check_report(check: CheckResult) -> str:
    limit = round(check.duration_ms / 1000)
    ended = f"ran into the time limit after {limit} s" if check.timed_out else f"exit code {check.exit_code}"
    return "\n".join([f"check `{check.command}`: {ended}", *telling_lines(check.output)])


def telling_lines(output: str) -> list[str]:
    """Return the lines of a tool's output that say where and why it failed, or its last lines where none does."""
    lines = [line.rstrip()[:MAX_LINE_CHARS] for line in _ANSI.sub("", output).splitlines() if line.strip()]
    picked = [line for line in lines if _TELLING.match(line)]
    return picked[:MAX_LINES] or lines[-TAIL_LINES:]


def _bounded(text: str, room: int) -> str:
    return text if len(text) <= room else f"{text[: room - 2]} …"
