"""What a tried proposal leaves behind: results, attempts, the outcome, and what the model is told about a failure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cipher_nb.sandbox.proposal.edits import Proposal


@dataclass(frozen=True)
class CheckResult:
    """One run of one check.

    `exit_code` is None when the time limit ended it. `output` is stdout and stderr together, bounded to its first and
    last part. `isolation` names what held the check in, see isolation.KINDS.
    """

    command: str
    passed: bool
    exit_code: int | None
    duration_ms: int
    output: str
    timed_out: bool
    isolation: str


@dataclass(frozen=True)
class Attempt:
    """One reply of the model and what became of it. `error` says why no check ran, or what a check must not do.

    `diff` is what the reply would change, for the feedback to the model; what an operator may see is the Outcome's.
    """

    number: int
    proposal: Proposal | None
    error: str
    checks: tuple[CheckResult, ...]
    passed: bool
    diff: str = ""


@dataclass(frozen=True)
class Feedback:
    """What the model hears before its next attempt, counted from 1 in `attempt`.

    With `clean_start` the text holds lessons only: ask anew, without the earlier replies.
    """

    attempt: int
    text: str
    clean_start: bool


@dataclass(frozen=True)
class Outcome:
    """The end of the loop. `diff` and `base_hashes` are empty unless `verified`.

    `base_hashes` maps every touched path to the SHA-256 it had in the real tree ("" where there was no file), with
    `executable:` or `link:` before it where it was that.
    """

    verified: bool
    attempts: tuple[Attempt, ...]
    diff: str
    base_hashes: Mapping[str, str]
