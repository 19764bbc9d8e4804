"""The loop: a proposal is tried in a fresh copy, and what failed goes back to the model, at most three times."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cipher_nb.config import SandboxSettings
from cipher_nb.errors import ProposalError, UnsafePathError
from cipher_nb.sandbox.checks.found import find_checks
from cipher_nb.sandbox.checks.order import by_cost
from cipher_nb.sandbox.checks.protection import protected_paths
from cipher_nb.sandbox.checks.run import run_check
from cipher_nb.sandbox.diff import unified_diff
from cipher_nb.sandbox.feedback import feedback_for
from cipher_nb.sandbox.outcome import Attempt, CheckResult, Feedback, Outcome
from cipher_nb.sandbox.proposal.changes import Changes, apply_edits, hash_of, hashes, plan
from cipher_nb.sandbox.proposal.edits import Proposal, parse_proposal
from cipher_nb.sandbox.scratch import Listing, in_use, make_copy

MAX_ATTEMPTS = 3


def verify(
    propose: Callable[[Feedback | None], str],
    *,
    root: Path,
    sandbox: Path,
    checks: Sequence[str],
    settings: SandboxSettings,
    intent: str = "",
    on_start: Callable[[int, str], None] = lambda attempt, command: None,
    on_check: Callable[[int, CheckResult], None] = lambda attempt, result: None,
    on_copy: Callable[[Listing], None] = lambda listing: None,
) -> Outcome:
    """Return what became of up to three proposals for the project in `root`, which stays as it is.

    `propose` gets None first, then Feedback; its reply is tried in `sandbox`, each time a fresh copy. A failed attempt
    is a reply that is no proposal, has a bad edit, changes a protected file that the operator's `intent` does not name,
    or does not pass. A reply that was sent before ends the loop. `checks` always run, a proposal's own on top of them,
    and those that the project itself has where there are none of either; cheap ones come first, and a group with a
    failure is the last. What `on_start`, `on_check` and `on_copy` raise is a warning. Raises SandboxError when the copy
    cannot be made.
    """
    trials = _Trials(root, sandbox, tuple(checks), settings, intent, on_start, on_check, on_copy)
    attempts: list[Attempt] = []
    with in_use(sandbox):
        for number in range(1, max(1, min(settings.attempts, MAX_ATTEMPTS)) + 1):
            clean_start = number == MAX_ATTEMPTS
            feedback = feedback_for(attempts, clean_start=clean_start, copy=sandbox) if attempts else None
            tried = trials.run(number, propose(feedback))
            attempts.append(tried.attempt)
            if tried.attempt.passed:
                return Outcome(True, tuple(attempts), tried.attempt.diff, tried.base_hashes)
            if tried.is_repeated:
                break
    return Outcome(False, tuple(attempts), "", {})


@dataclass(frozen=True)
class _Tried:
    attempt: Attempt
    base_hashes: Mapping[str, str] = field(default_factory=dict)
    is_repeated: bool = False


@dataclass(frozen=True)
class _Trials:
    root: Path
    sandbox: Path
    checks: tuple[str, ...]
    settings: SandboxSettings
    intent: str
    on_start: Callable[[int, str], None]
    on_check: Callable[[int, CheckResult], None]
    on_copy: Callable[[Listing], None]
    seen: dict[Hashable, int] = field(default_factory=dict)

    def run(self, number: int, reply: str) -> _Tried:
        proposal, essence = None, _words_of(reply)
        try:
            proposal = parse_proposal(reply)
            commands = self._commands(proposal)
            essence = (proposal.edits, commands)
            changes = plan(self.root, proposal)
            essence = (_content_of(changes), commands)
        except (ProposalError, UnsafePathError) as error:
            return self._repeated(number, proposal, essence) or _refused(number, proposal, error)
        return self._repeated(number, proposal, essence) or self._try(number, proposal, commands)

    def _repeated(self, number: int, proposal: Proposal | None, essence: Hashable) -> _Tried | None:
        """Return the end of a loop that goes round: what failed before would fail again."""
        first = self.seen.setdefault(essence, number)
        if first == number:
            return None
        what = "the edits" if proposal else "the reply"
        error = f"the model sent {what} of attempt {first} again; say more in the intent, or show it other files"
        return _Tried(Attempt(number, proposal, error, (), passed=False), is_repeated=True)

    def _try(self, number: int, proposal: Proposal, commands: Sequence[str]) -> _Tried:
        try:
            self._refuse_unjudged(proposal, commands)
            base_hashes = hashes(self.root, proposal.touched())
            _tell(self.on_copy, make_copy(self.root, self.sandbox))
            changes = apply_edits(self.sandbox, proposal)
            diff = _diff_of(self.root, changes)
        except (ProposalError, UnsafePathError) as error:
            return _refused(number, proposal, error)
        results = self._run_checks(number, commands)
        passed = all(result.passed for result in results)
        error_text = _changed_by_checks(self.sandbox, changes) if passed else ""
        attempt = Attempt(number, proposal, error_text, results, passed=passed and not error_text, diff=diff)
        return _Tried(attempt, base_hashes)

    def _commands(self, proposal: Proposal) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.checks, *proposal.checks))) or find_checks(self.root)

    def _refuse_unjudged(self, proposal: Proposal, commands: Sequence[str]) -> None:
        """Refuse a proposal that nothing would judge, or that changes its own judge."""
        if not commands:
            raise ProposalError(
                "there are no checks to pass; name one in the proposal's checks, or in [sandbox] checks"
            )
        protected = protected_paths(proposal.touched(), protected=self.settings.protected, intent=self.intent)
        if protected:
            raise ProposalError(
                f"{', '.join(protected)} may not be changed: the change is judged by it ([sandbox] protected); "
                "leave it as it is and send edits to the other files"
            )

    def _run_checks(self, number: int, commands: Sequence[str]) -> tuple[CheckResult, ...]:
        results: list[CheckResult] = []
        for group in by_cost(commands):
            for command in group:
                _tell(self.on_start, number, command)
                results.append(run_check(command, copy=self.sandbox, settings=self.settings))
                _tell(self.on_check, number, results[-1])
            if not all(result.passed for result in results):
                break
        return tuple(results)


def _refused(number: int, proposal: Proposal | None, error: Exception) -> _Tried:
    return _Tried(Attempt(number, proposal, str(error), (), passed=False))


def _diff_of(root: Path, changes: Changes) -> str:
    diff = unified_diff(root, changes)
    if not diff:
        raise ProposalError("the edits change nothing; send edits that differ from the files as they are")
    return diff


def _words_of(reply: str) -> Hashable:
    return " ".join(reply.split())


def _content_of(changes: Changes) -> Hashable:
    return frozenset(changes.items())


def _tell(listener: Callable[..., None], *what: object) -> None:
    try:
        listener(*what)
    except Exception as error:  # noqa: BLE001 - what a display does wrong must not cost the attempt
        warnings.warn(f"{error!r} came from who was told of the progress; the attempt goes on", stacklevel=2)


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
