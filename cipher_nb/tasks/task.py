"""The record of one proposed change, and its words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from cipher_nb.sandbox.outcome import Attempt, CheckResult


@dataclass(frozen=True)
class Task:
    """The record of one change.

    `status` is "failed", "verified", "approved", "rejected", "undone" or "shipped"; `reason` says why it is not
    approved. `proposal`, `diff` and `base_hashes` are there once it is verified. Each of `checks` holds command,
    passed, duration_ms, attempt and isolation, in the order they ran.
    """

    id: str
    intent: str
    status: str
    verified: bool
    attempts: int
    checks: tuple[Mapping[str, Any], ...] = ()
    diff: str = ""
    proposal: Mapping[str, Any] | None = None
    base_hashes: Mapping[str, str] | None = None
    commit_sha: str = ""
    pattern: str = ""
    reason: str = ""

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "checks": [dict(check) for check in self.checks]}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Task:
        return cls(**{**value, "checks": tuple(value["checks"])})


def way_back(task: Task) -> str:
    if task.status == "shipped":
        return f"; take it back with: git revert {task.commit_sha}"
    if task.status == "approved":
        return f"; take it back with: cipher-nb undo {task.id}"
    return "; its files are as they were"


def check_row(attempt: int, result: CheckResult) -> dict[str, Any]:
    return {
        "command": result.command,
        "passed": result.passed,
        "duration_ms": result.duration_ms,
        "attempt": attempt,
        "isolation": result.isolation,
    }


def in_words(result: CheckResult) -> str:
    ended = "passed" if result.passed else "ran out of time" if result.timed_out else "failed"
    return f"{result.command} {ended} ({result.duration_ms / 1000:.1f} s)"


def why(attempt: Attempt) -> str:
    failed = ", ".join(result.command for result in attempt.checks if not result.passed)
    return attempt.error or f"check {failed} did not pass in attempt {attempt.number}, the last one"
