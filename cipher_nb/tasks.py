"""One proposed change from intent to ship: asked for, tried, approved or rejected, committed, and on record."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, replace
from typing import Any

from cipher_nb import files
from cipher_nb.bus import Bus
from cipher_nb.config import SandboxSettings
from cipher_nb.errors import CipherError, NotFoundError, ProposalError, SandboxError, UnsafePathError
from cipher_nb.model import Message, Model
from cipher_nb.paths import Paths
from cipher_nb.records import Clock, Turn, new_id, utc_now
from cipher_nb.sandbox.changes import hashes
from cipher_nb.sandbox.edits import PROPOSAL_SCHEMA, parse_proposal, proposal_from_json
from cipher_nb.sandbox.loop import verify
from cipher_nb.sandbox.outcome import Attempt, CheckResult, Feedback, Outcome
from cipher_nb.sandbox.prompt import first_messages, retry_messages
from cipher_nb.sandbox.scratch import Listing
from cipher_nb.sandbox.ship import apply_to_tree, commit
from cipher_nb.transcripts import Transcripts

MAX_REPLY_TOKENS = 768
Progress = Callable[[str], None]


@dataclass(frozen=True)
class Task:
    """The record of one change.

    `status` is "failed", "verified", "approved", "rejected" or "shipped"; `reason` says why it failed or was rejected.
    `proposal`, `diff` and `base_hashes` are there once it is verified. Each of `checks` holds command, passed,
    duration_ms, attempt and isolation, in the order they ran.
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


class Tasks:
    """The tasks of one workspace. Records lie in `.aide/tasks/`, turns in the transcripts, outcomes on the bus."""

    def __init__(
        self, paths: Paths, *, settings: SandboxSettings, bus: Bus, transcripts: Transcripts, clock: Clock = utc_now
    ) -> None:
        self._paths = paths
        self._settings = settings
        self._bus = bus
        self._transcripts = transcripts
        self._clock = clock

    def propose(
        self,
        intent: str,
        *,
        model: Model,
        scaffold: str = "",
        checks: Sequence[str] = (),
        files: Sequence[str] = (),
        model_name: str = "",
        adapter: str = "base",
        on_progress: Progress | None = None,
    ) -> Task:
        """Ask `model` for a change, try it up to three times, and return the task, verified or failed.

        `checks` stand in for those of the settings; the proposal may add to them. `files` are shown to the model.
        Raises EngineError when the model gives no answer.
        """
        task_id, say = new_id(self._clock()), on_progress or _say_nothing
        commands = tuple(checks) or self._settings.checks
        first = first_messages(intent, root=self._paths.root, scaffold=scaffold, files=files, checks=commands)
        replies: list[str] = []

        def ask(feedback: Feedback | None) -> str:
            messages = first if feedback is None else retry_messages(first, replies[-1], feedback)
            say(f"attempt {len(replies) + 1}: asking the model")
            replies.append(self._answer(model, messages, task_id))
            self._record_turn(task_id, messages, replies[-1], len(replies), model_name=model_name, adapter=adapter)
            return replies[-1]

        outcome = self._try(task_id, ask, commands, settings=self._settings, say=say)
        return self._record(task_id, intent, outcome)

    def verify(
        self,
        proposal_text: str,
        *,
        intent: str = "",
        checks: Sequence[str] = (),
        scaffold: str = "",
        model_name: str = "",
        adapter: str = "base",
        on_progress: Progress | None = None,
    ) -> Task:
        """Try edits that are already written, once, and return the task with the same records as `propose` leaves.

        The transcript's question shows the files that the edits touch. Text that is no proposal is a failed task.
        """
        task_id, commands = new_id(self._clock()), tuple(checks) or self._settings.checks
        own_intent, touched = self._read_through(proposal_text)
        intent = intent or own_intent or f"change {', '.join(touched) or 'nothing'}"
        first = first_messages(intent, root=self._paths.root, scaffold=scaffold, files=touched, checks=commands)
        self._record_turn(task_id, first, proposal_text, 1, model_name=model_name, adapter=adapter)
        outcome = self._try(
            task_id,
            lambda feedback: proposal_text,
            commands,
            settings=replace(self._settings, attempts=1),
            say=on_progress or _say_nothing,
        )
        return self._record(task_id, intent, outcome)

    def approve(self, task_id: str, *, pattern: str = "", tool: str = "edit") -> Task:
        """Bring a verified task to the real tree, all or nothing, and return it; an approved one is returned as it is.

        Raises SandboxError for a task that is not verified, ConflictError when a file changed since.
        """
        with self._locked():
            task = self.get(task_id)
            if task.status in ("approved", "shipped"):
                return task
            if task.status != "verified" or task.proposal is None:
                raise SandboxError(f"task {task_id} is {task.status} and cannot be approved: {task.reason}")
            proposal = proposal_from_json(task.proposal)
            apply_to_tree(self._paths.root, proposal, base_hashes=task.base_hashes or {})
            task = self._save(replace(task, status="approved", pattern=pattern))
            self._bus.append("approval", tool=tool, pattern=pattern, summary=task.intent, task=task_id)
            return task

    def reject(self, task_id: str, *, reason: str, pattern: str = "", tool: str = "edit") -> Task:
        """Close a task that is not wanted; the real tree stays as it is. A rejected one is returned as it is."""
        with self._locked():
            task = self.get(task_id)
            if task.status == "rejected":
                return task
            if task.status in ("approved", "shipped"):
                raise SandboxError(f"task {task_id} is {task.status} and cannot be rejected; undo it with git")
            task = self._save(replace(task, status="rejected", pattern=pattern, reason=reason))
            self._bus.append("rejection", tool=tool, pattern=pattern, summary=reason, reason=reason, task=task_id)
            return task

    def ship(self, task_id: str) -> Task:
        """Commit the files of an approved task, and only those, and return it with the commit's sha.

        Raises SandboxError when it is not approved, or git cannot commit.
        """
        with self._locked():
            task = self.get(task_id)
            if task.status == "shipped":
                return task
            if task.status != "approved" or task.proposal is None:
                raise SandboxError(f"task {task_id} is {task.status}; only an approved task can be shipped")
            touched = proposal_from_json(task.proposal).touched()
            done = commit(self._paths.root, touched, message=task.intent)
            task = self._save(replace(task, status="shipped", commit_sha=done.sha))
            self._bus.append("ship", commit_sha=done.sha, files_count=len(done.paths), intent=task.intent, task=task_id)
            return task

    def get(self, task_id: str) -> Task:
        """Return the task; raises NotFoundError for an id that is none."""
        path = self._paths.tasks / f"{task_id}.json"
        if not task_id.isalnum() or not path.is_file():
            raise NotFoundError(f"there is no task {task_id!r}; the files in {self._paths.tasks} name those there are")
        try:
            return Task.from_json(files.read_json(path))
        except (TypeError, KeyError) as error:
            raise CipherError(f"{path} is no task record ({error}); move it away to go on") from error

    def list(self) -> builtins.list[Task]:
        """Return all tasks, newest first."""
        ids = sorted((path.stem for path in self._paths.tasks.glob("[!.]*.json")), reverse=True)
        return [self.get(task_id) for task_id in ids]

    def _answer(self, model: Model, messages: Sequence[Message], task_id: str) -> str:
        try:
            return model.chat(messages, max_tokens=MAX_REPLY_TOKENS, schema=PROPOSAL_SCHEMA).text
        except CipherError as error:
            self._bus.append("error", source="tasks", message=str(error), task=task_id)
            raise

    def _record_turn(
        self, task_id: str, messages: Sequence[Message], reply: str, attempt: int, *, model_name: str, adapter: str
    ) -> None:
        now = self._clock()
        turn = Turn(
            id=new_id(now),
            ts=now,
            task=task_id,
            kind="proposal",
            messages=tuple(messages),
            reply=reply,
            model=model_name,
            adapter=adapter,
            attempt=attempt,
        )
        self._transcripts.append(turn)

    def _try(
        self,
        task_id: str,
        propose: Callable[[Feedback | None], str],
        checks: Sequence[str],
        *,
        settings: SandboxSettings,
        say: Progress,
    ) -> Outcome:
        def on_check(attempt: int, result: CheckResult) -> None:
            say(f"attempt {attempt}: {_in_words(result)}")
            row = _check_row(attempt, result)
            self._bus.append("gate", gate=row.pop("command"), **row, task=task_id)

        def on_copy(listing: Listing) -> None:
            source = "" if listing.from_git else " (no git list: everything but .git and .aide)"
            say(f"copied {len(listing.paths)} files{source}")

        return verify(
            propose,
            root=self._paths.root,
            sandbox=self._paths.sandboxes / task_id,
            checks=checks,
            settings=settings,
            on_check=on_check,
            on_copy=on_copy,
        )

    def _record(self, task_id: str, intent: str, outcome: Outcome) -> Task:
        last = outcome.attempts[-1]
        proposal = last.proposal.to_json() if outcome.verified and last.proposal else None
        task = Task(
            id=task_id,
            intent=intent,
            status="verified" if outcome.verified else "failed",
            verified=outcome.verified,
            attempts=len(outcome.attempts),
            checks=tuple(_check_row(tried.number, result) for tried in outcome.attempts for result in tried.checks),
            diff=outcome.diff,
            proposal=proposal,
            base_hashes=outcome.base_hashes,
            reason="" if outcome.verified else _why(last),
        )
        return self._save(task)

    def _save(self, task: Task) -> Task:
        files.write_json(self._paths.tasks / f"{task.id}.json", task.to_json())
        return task

    def _locked(self) -> AbstractContextManager[object]:
        self._paths.tasks.mkdir(parents=True, exist_ok=True)
        return files.locked(self._paths.tasks / "records")

    def _read_through(self, proposal_text: str) -> tuple[str, tuple[str, ...]]:
        """Return the intent and the paths of edits from a file, or nothing of edits that will be refused."""
        try:
            proposal = parse_proposal(proposal_text)
            hashes(self._paths.root, proposal.touched())
        except (ProposalError, UnsafePathError):
            return "", ()
        return proposal.intent, proposal.touched()


def _say_nothing(text: str) -> None:
    """The progress of a caller who wants none."""


def _check_row(attempt: int, result: CheckResult) -> dict[str, Any]:
    return {
        "command": result.command,
        "passed": result.passed,
        "duration_ms": result.duration_ms,
        "attempt": attempt,
        "isolation": result.isolation,
    }


def _in_words(result: CheckResult) -> str:
    ended = "passed" if result.passed else "ran out of time" if result.timed_out else "failed"
    return f"{result.command} {ended} ({result.duration_ms / 1000:.1f} s)"


def _why(attempt: Attempt) -> str:
    failed = ", ".join(result.command for result in attempt.checks if not result.passed)
    return attempt.error or f"check {failed} did not pass in attempt {attempt.number}, the last one"
