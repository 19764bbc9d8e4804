"""One commit as events: a `ship`, and for each commit that it reverts a vote against what that one brought."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cipher_nb.bus import Bus
from cipher_nb.errors import CipherError
from cipher_nb.files import locked
from cipher_nb.records import Event
from cipher_nb.sandbox.git import git_output, run_git
from cipher_nb.sandbox.ship import SHIPPING

MOST_REVERTS = 100
CLOCK_SKEW = timedelta(days=1)

_SHA = r"[0-9a-f]{7,64}\b"
_REVERTS = re.compile(rf"\b[Tt]his reverts commits?\s+({_SHA}(?:(?:\s*,\s*|\s+)(?:and\s+)?{_SHA})*)")
_REPLAYED = re.compile(r"[^:]*(?:\brebase\b|cherry-pick)")


@dataclass(frozen=True)
class Recorded:
    """What was written about a commit: the types of its events in order; where there are none, `reason` says why."""

    commit_sha: str
    events: tuple[str, ...] = ()
    reason: str = ""


@dataclass(frozen=True)
class _Commit:
    sha: str
    moment: datetime
    subject: str
    reverts: tuple[str, ...]


@dataclass(frozen=True)
class _Vote:
    """What a revert says about the commit `origin`; `reverts` is the one that it names."""

    reverts: str
    origin: str
    approves: bool


def record_commit(tree: Path, *, workspace: Path, bus: Bus, sha: str = "HEAD") -> Recorded:
    """Append the events of the commit `sha`, which was made in the work tree `tree` of the workspace's repository.

    Nothing is written for a commit that is on the bus, that a rebase or cherry-pick replayed, or that `cipher-nb ship`
    made, which records it itself. Raises CipherError when the bus cannot be written, SandboxError without git.
    """
    if os.environ.get(SHIPPING):
        return Recorded(sha, reason="cipher-nb ship records its commits itself")
    commit = _read(tree, sha)
    if commit is None or not _is_one_repository(tree, workspace):
        return Recorded(sha, reason=f"it is no commit of the repository of {workspace}")
    if _is_replay(tree, commit.sha):
        return Recorded(commit.sha, reason="a rebase or cherry-pick replayed it")
    with locked(bus.path.with_name("commits")):
        if _shipped(bus, commit.sha, since=commit.moment):
            return Recorded(commit.sha, reason="it is on the bus already")
        return Recorded(commit.sha, tuple(_append(tree, commit, bus)))


def _append(tree: Path, commit: _Commit, bus: Bus) -> Iterator[str]:
    listed = git_output(
        tree, "show", "--format=", "--name-only", "-z", "--no-renames", "-m", "--first-parent", commit.sha
    )
    count = sum(1 for name in listed.split(b"\0") if name.strip())
    _written(bus.append("ship", commit_sha=commit.sha, files_count=count, intent=commit.subject), bus)
    yield "ship"
    for vote in _votes(tree, commit):
        origin = _read(tree, vote.origin)
        shipped = _shipped(bus, vote.origin, since=origin.moment if origin else None)
        kind, task = "approval" if vote.approves else "rejection", shipped.task if shipped else ""
        fields = {"reverts": vote.reverts} | ({"task": task} if task else {})
        _written(bus.append(kind, tool="git", pattern=_pattern(bus, task), summary=commit.subject, **fields), bus)
        yield kind


def _written(done: bool, bus: Bus) -> None:
    if not done:
        raise CipherError(f"{bus.path} could not be written; see whether the disk is full and the file yours")


def _votes(tree: Path, commit: _Commit) -> Iterator[_Vote]:
    """Yield a vote for each commit whose work `commit` takes away or, as the revert of a revert, brings back."""
    pending = [_Vote(sha, sha, approves=False) for sha in reversed(commit.reverts)]
    seen: set[str] = set()
    while pending and len(seen) < MOST_REVERTS:
        vote = pending.pop()
        named = _read(tree, vote.origin)
        origin = named.sha if named else vote.origin
        if origin in seen:
            continue
        seen.add(origin)
        direct = origin if vote.reverts == vote.origin else vote.reverts
        if named and named.reverts:
            pending += [_Vote(direct, sha, not vote.approves) for sha in reversed(named.reverts)]
        else:
            yield _Vote(direct, origin, vote.approves)


def _read(tree: Path, name: str) -> _Commit | None:
    """Return the commit behind a sha, whole or abbreviated, or HEAD; None where the repository has none."""
    if not re.fullmatch(rf"HEAD|{_SHA}", name):
        return None
    form = "--format=%H%x00%ct%x00%s%x00%B"
    done = run_git(
        tree, "show", "--no-patch", "--no-show-signature", "--encoding=UTF-8", form, f"{name}^{{commit}}", "--"
    )
    if done.returncode != 0:
        return None
    sha, seconds, subject, message = done.stdout.decode(errors="replace").split("\0", 3)
    named = [found for part in _REVERTS.findall(message) for found in re.findall(_SHA, part)]
    return _Commit(sha, datetime.fromtimestamp(int(seconds), UTC), subject, tuple(dict.fromkeys(named)))


def _is_one_repository(tree: Path, workspace: Path) -> bool:
    """Return whether both are of one repository: all its worktrees share one folder of git's."""
    told = [run_git(each, "rev-parse", "--git-common-dir").stdout.rstrip(b"\n") for each in (tree, workspace)]
    here, there = ((each / os.fsdecode(folder)).resolve() for each, folder in zip((tree, workspace), told, strict=True))
    return all(told) and here == there


def _is_replay(tree: Path, sha: str) -> bool:
    """Return whether git's own log of HEAD says so: "rebase (pick): …", "pull --rebase (pick): …", "cherry-pick: …"."""
    log = run_git(tree, "log", "--walk-reflogs", "--max-count=100", "--format=%H %gs", "HEAD", "--").stdout
    entries = (line.partition(" ") for line in log.decode(errors="replace").splitlines())
    actions = [action for entry, _, action in entries if entry == sha]
    return bool(actions and _REPLAYED.match(actions[-1]))  # the oldest: how it came about, not where HEAD went later


def _shipped(bus: Bus, sha: str, *, since: datetime | None) -> Event | None:
    """Return the newest ship of the commit: not older than the commit itself, give or take what clocks differ."""
    ships = bus.read_state(type="ship", since=since - CLOCK_SKEW if since else None)
    return next((event for event in ships if str(event.fields.get("commit_sha", "")).startswith(sha)), None)


def _pattern(bus: Bus, task: str) -> str:
    """Return what the task was approved for; "" counts for no pattern."""
    approvals = bus.read_state(type="approval", task=task, limit=1) if task else []
    return approvals[0].pattern if approvals else ""
