"""The loop: a proposal is tried in a fresh copy, and what failed goes back to the model, at most three times."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cipher_nb.config import SandboxSettings
from cipher_nb.errors import ProposalError, UnsafePathError
from cipher_nb.sandbox.changes import Changes, apply_edits, hash_of, hashes
from cipher_nb.sandbox.checks import run_check
from cipher_nb.sandbox.diff import unified_diff
from cipher_nb.sandbox.edits import Proposal, parse_proposal
from cipher_nb.sandbox.feedback import feedback_for
from cipher_nb.sandbox.outcome import Attempt, CheckResult, Feedback, Outcome
from cipher_nb.sandbox.scratch import Listing, make_copy

MAX_ATTEMPTS = 3


def verify(
    propose: Callable[[Feedback | None], str],
    *,
    root: Path,
    sandbox: Path,
    checks: Sequence[str],
    settings: SandboxSettings,
    on_check: Callable[[int, CheckResult], None] = lambda attempt, result: None,
    on_copy: Callable[[Listing], None] = lambda listing: None,
) -> Outcome:
    """Return what became of up to three proposals for the project in `root`, which stays as it is.

    `propose` gets None first, then Feedback; its reply is tried in `sandbox`, each time a fresh copy. A reply that is
    no proposal, or has a bad edit, is a failed attempt. `checks` always run; a proposal's own come on top of them.
    Raises SandboxError when the copy cannot be made.
    """
    trials = _Trials(root, sandbox, tuple(checks), settings, on_check, on_copy)
    attempts: list[Attempt] = []
    for number in range(1, max(1, min(settings.attempts, MAX_ATTEMPTS)) + 1):
        feedback = feedback_for(attempts, clean_start=number == MAX_ATTEMPTS) if attempts else None
        tried = trials.run(number, propose(feedback))
        attempts.append(tried.attempt)
        if tried.attempt.passed:
            return Outcome(True, tuple(attempts), tried.diff, tried.base_hashes)
    return Outcome(False, tuple(attempts), "", {})


@dataclass(frozen=True)
class _Tried:
    attempt: Attempt
    diff: str = ""
    base_hashes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class _Trials:
    root: Path
    sandbox: Path
    checks: tuple[str, ...]
    settings: SandboxSettings
    on_check: Callable[[int, CheckResult], None]
    on_copy: Callable[[Listing], None]

    def run(self, number: int, reply: str) -> _Tried:
        proposal = None
        try:
            proposal = parse_proposal(reply)
            base_hashes = hashes(self.root, proposal.touched())
            self.on_copy(make_copy(self.root, self.sandbox))
            changes = apply_edits(self.sandbox, proposal)
            diff = unified_diff(self.root, changes)
            commands = self._commands(proposal, diff)
        except (ProposalError, UnsafePathError) as error:
            return _Tried(Attempt(number, proposal, str(error), (), passed=False))
        results = tuple(self._check(number, command) for command in commands)
        passed = all(result.passed for result in results)
        error_text = _changed_by_checks(self.sandbox, changes) if passed else ""
        attempt = Attempt(number, proposal, error_text, results, passed=passed and not error_text)
        return _Tried(attempt, diff, base_hashes)

    def _commands(self, proposal: Proposal, diff: str) -> tuple[str, ...]:
        commands = tuple(dict.fromkeys((*self.checks, *proposal.checks)))
        if not commands:
            raise ProposalError(
                "there are no checks to pass; name one in the proposal's checks, or in [sandbox] checks"
            )
        if not diff:
            raise ProposalError("the edits change nothing; send edits that differ from the files as they are")
        return commands

    def _check(self, number: int, command: str) -> CheckResult:
        result = run_check(command, copy=self.sandbox, settings=self.settings)
        self.on_check(number, result)
        return result


def _changed_by_checks(sandbox: Path, changes: Changes) -> str:
    """Say which edited file a check rewrote: what passed would then not be what the operator gets."""
    for path, state in changes.items():
        try:
            found = hashes(sandbox, [path])[path]
        except (ProposalError, UnsafePathError):
            found = "not a file any more"
        if found != hash_of(state):
            return f"the checks rewrote {path}; a check must only look, so run formatters in their checking mode"
    return ""
