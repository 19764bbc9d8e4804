"""One proposed change from intent to ship: asked for, tried, approved or rejected, committed, and on record."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any

from cipher_nb import files
from cipher_nb.bus import Bus
from cipher_nb.config import SandboxSettings
from cipher_nb.errors import CipherError, NotFoundError, ProposalError, SandboxError, UnsafePathError
from cipher_nb.model import Message, Model
from cipher_nb.paths import Paths
from cipher_nb.records import Clock, Turn, made_at, new_id, utc_now
from cipher_nb.sandbox import journal
from cipher_nb.sandbox.checks.found import find_checks
from cipher_nb.sandbox.loop import verify
from cipher_nb.sandbox.outcome import CheckResult, Feedback, Outcome
from cipher_nb.sandbox.prompt import first_messages, retry_messages
from cipher_nb.sandbox.proposal.changes import read_entry
from cipher_nb.sandbox.proposal.edits import PROPOSAL_SCHEMA, parse_proposal, proposal_from_json
from cipher_nb.sandbox.scratch import Listing
from cipher_nb.sandbox.scratch.prune import prune
from cipher_nb.sandbox.ship import apply_to_tree, commit_once
from cipher_nb.tasks.task import Task, check_row, in_words, way_back, why
from cipher_nb.transcripts import Transcripts

MAX_REPLY_TOKENS = 768
Progress = Callable[[str], None]


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
        task: str | None = None,
        on_progress: Progress | None = None,
    ) -> Task:
        """Ask `model` for a change, try it up to three times, and return the task, verified or failed.

        `checks` stand in for those of the settings, these for what the project is set up for; the proposal may add to
        them. `files` are shown to the model.
        `task` is the id it gets, for who wants to follow its events. Raises EngineError when the model gives no answer.
        """
        self._finish_cut_off()
        task_id, say = task or new_id(self._clock()), on_progress or _say_nothing
        commands = self._checks(checks)
        first = self._question(intent, scaffold, files, commands)
        replies: list[str] = []

        def ask(feedback: Feedback | None) -> str:
            messages = first if feedback is None else retry_messages(first, replies[-1], feedback)
            say(f"attempt {len(replies) + 1}: asking the model")
            replies.append(self._answer(model, messages, task_id))
            self._record_turn(task_id, messages, replies[-1], len(replies), model_name=model_name, adapter=adapter)
            return replies[-1]

        outcome = self._try(task_id, ask, commands, intent=intent, settings=self._settings, say=say)
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
        self._finish_cut_off()
        task_id, commands = new_id(self._clock()), self._checks(checks)
        asked = intent
        own_intent, shown = self._read_through(proposal_text)
        intent = intent or own_intent
        first = self._question(intent, scaffold, shown, commands)
        self._record_turn(task_id, first, proposal_text, 1, model_name=model_name, adapter=adapter)
        outcome = self._try(
            task_id,
            lambda feedback: proposal_text,
            commands,
            intent=asked,
            settings=replace(self._settings, attempts=1),
            say=on_progress or _say_nothing,
        )
        return self._record(task_id, intent, outcome)

    def approve(self, task_id: str, *, pattern: str = "", tool: str = "edit") -> Task:
        """Bring a verified task to the real tree, all or nothing, and return it; an approved one is returned as it is.

        One that was cut off before it was on record is put on record. Raises SandboxError for a task that is not
        verified, ConflictError when a file changed since.
        """
        with self._locked():
            task = self.get(task_id)
            if task.status in ("approved", "shipped"):
                return task
            if task.status != "verified" or task.proposal is None:
                raise SandboxError(f"task {task_id} is {task.status} and cannot be approved: {task.reason}")
            if self._in_tree(task_id) != journal.APPLY:
                proposal, aide = proposal_from_json(task.proposal), self._paths.aide
                apply_to_tree(self._paths.root, proposal, base_hashes=task.base_hashes or {}, aide=aide, task=task_id)
            self._append_once("approval", task_id, tool=tool, pattern=pattern, summary=task.intent)
            return self._save(replace(task, status="approved", pattern=pattern))

    def reject(self, task_id: str, *, reason: str, pattern: str = "", tool: str = "edit") -> Task:
        """Close a task that is not wanted; the real tree stays as it is. A rejected one is returned as it is."""
        with self._locked():
            task = self.get(task_id)
            if task.status == "rejected":
                return task
            if task.status in ("approved", "shipped", "undone"):
                raise SandboxError(f"task {task_id} is {task.status} and cannot be rejected{way_back(task)}")
            if self._in_tree(task_id) == journal.APPLY:  # an approval that was cut off
                journal.revert(self._paths.root, self._paths.aide, task_id)
            self._append_once("rejection", task_id, tool=tool, pattern=pattern, summary=reason, reason=reason)
            task = self._save(replace(task, status="rejected", pattern=pattern, reason=reason))
            journal.forget(self._paths.aide, task_id)
            return task

    def undo(self, task_id: str) -> Task:
        """Take an approval back: every file, mode, link and folder is what it was before; an undone task is returned.

        It counts as a rejection of the pattern it was approved for, and the task is not trained on. Raises
        ConflictError, naming the file, when one changed since the approval, SandboxError for a task that is not
        approved, or shipped already.
        """
        with self._locked():
            task = self.get(task_id)
            if task.status == "undone":
                return task
            if task.status != "approved":
                raise SandboxError(f"task {task_id} is {task.status} and cannot be undone{way_back(task)}")
            if self._in_tree(task_id) != journal.REVERT:
                journal.revert(self._paths.root, self._paths.aide, task_id)
            summary, reason = f"undone: {task.intent}", "the operator undid its approval"
            self._append_once("rejection", task_id, tool="edit", pattern=task.pattern, summary=summary, reason=reason)
            task = self._save(replace(task, status="undone", reason=reason))
            journal.forget(self._paths.aide, task_id)
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
            if self._in_tree(task_id) == journal.REVERT:
                raise SandboxError(f"the undo of task {task_id} was cut off; finish it with: cipher-nb undo {task_id}")
            touched = proposal_from_json(task.proposal).touched()
            note = self._paths.undo / task_id / "head"
            done = commit_once(self._paths.root, touched, message=task.intent, note=note)
            fields = {"commit_sha": done.sha, "files_count": len(done.paths), "intent": task.intent}
            self._append_once("ship", task_id, **fields)
            task = self._save(replace(task, status="shipped", commit_sha=done.sha))
            journal.forget(self._paths.aide, task_id)
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
        """Return all tasks, newest first; an approval or undo that was cut off is finished before."""
        self._finish_cut_off()
        ids = sorted((path.stem for path in self._paths.tasks.glob("[!.]*.json")), reverse=True)
        return [self.get(task_id) for task_id in ids]

    def _checks(self, asked: Sequence[str]) -> tuple[str, ...]:
        """Return what has to pass: the caller's, else the settings', else what the project itself is set up for.

        Never the proposal's own alone, where there are others: a model must not choose its judge.
        """
        return tuple(asked) or self._settings.checks or find_checks(self._paths.root)

    def _question(self, intent: str, scaffold: str, files: Sequence[str], checks: Sequence[str]) -> tuple[Message, ...]:
        return first_messages(
            intent,
            root=self._paths.root,
            scaffold=scaffold,
            files=files,
            checks=checks,
            prompt_tokens=self._settings.prompt_tokens,
        )

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
        intent: str,
        settings: SandboxSettings,
        say: Progress,
    ) -> Outcome:
        def on_check(attempt: int, result: CheckResult) -> None:
            row = check_row(attempt, result)
            self._bus.append("gate", gate=row.pop("command"), **row, task=task_id)
            say(f"attempt {attempt}: {in_words(result)}")

        def on_start(attempt: int, command: str) -> None:
            say(f"attempt {attempt}: running {command}")

        def on_copy(listing: Listing) -> None:
            source = "" if listing.from_git else " (no git list: everything but .git and .aide)"
            left_out = f"; left out: {', '.join(listing.left_out)}" if listing.left_out else ""
            say(f"copied {len(listing.paths)} files{source}{left_out}")

        return verify(
            propose,
            root=self._paths.root,
            sandbox=self._paths.sandboxes / task_id,
            checks=checks,
            settings=settings,
            intent=intent,
            on_start=on_start,
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
            checks=tuple(check_row(tried.number, result) for tried in outcome.attempts for result in tried.checks),
            diff=outcome.diff,
            proposal=proposal,
            base_hashes=outcome.base_hashes,
            reason="" if outcome.verified else why(last),
        )
        self._save(task)
        keep = {"keep_days": self._settings.keep_days, "keep_mb": self._settings.keep_mb}
        with suppress(SandboxError, OSError):  # the task is done; the next one tries again
            prune(self._paths.sandboxes, **keep, now=self._clock())
        return task

    def _save(self, task: Task) -> Task:
        files.write_json(self._paths.tasks / f"{task.id}.json", task.to_json())
        return task

    def _finish_cut_off(self) -> None:
        """Leave nothing half done by somebody who died; waits for who is at it now."""
        if self._paths.journal.is_dir() and any(self._paths.journal.iterdir()):
            with self._locked():
                pass

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Be the only one who changes tasks and their files, with nothing half done among them."""
        self._paths.tasks.mkdir(parents=True, exist_ok=True)
        lock = files.locked(self._paths.tasks / "records")
        try:
            lock.acquire()
        except TimeoutError as error:
            raise SandboxError(
                f"another process has held the tasks of {self._paths.root} for 30 s; wait for it and try again"
            ) from error
        try:
            for cut_off in journal.recover(self._paths.root, self._paths.aide):
                self._tell(cut_off)
            yield
        finally:
            lock.release()

    def _tell(self, cut_off: journal.Recovered) -> None:
        if cut_off.left_alone:
            message = (
                f"the {cut_off.kind} of task {cut_off.task} was cut off and taken back, but for "
                f"{', '.join(cut_off.left_alone)}: changed since by somebody else, and left alone"
            )
            self._bus.append("error", source="tasks", message=message, task=cut_off.task)

    def _in_tree(self, task_id: str) -> str:
        """Return what was done last with the task's files, on record or not: "apply", "revert" or "" for nothing."""
        return journal.last_kind(self._paths.aide, task_id)

    def _append_once(self, type: str, task_id: str, **values: Any) -> None:
        """Append an event of which a task has one: who was cut off after appending it comes by again."""
        if not self._bus.read_state(type=type, task=task_id, since=made_at(task_id), limit=1):
            self._bus.append(type, **values, task=task_id)

    def _read_through(self, proposal_text: str) -> tuple[str, tuple[str, ...]]:
        """Return the intent of edits and the files to show, links left out; nothing of edits that will be refused."""
        try:
            proposal = parse_proposal(proposal_text)
            found = {path: read_entry(self._paths.root, path) for path in proposal.touched()}
        except (ProposalError, UnsafePathError):
            return "change nothing", ()
        shown = tuple(path for path, state in found.items() if not (state and state.is_link))
        return proposal.intent or f"change {', '.join(found)}", shown


def _say_nothing(text: str) -> None:
    """The progress of a caller who wants none."""
