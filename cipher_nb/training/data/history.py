"""What happened to each task: its events in order, also those that name only the commit it was shipped in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from cipher_nb.records import Event

SHORT_SHA_CHARS = 7


def histories(events: Iterable[Event]) -> dict[str, list[Event]]:
    """Return the events of each task, oldest first, the tasks by their first event.

    An event without a task belongs to every task of the commit that it names (`commit_sha`, or `reverts` on a revert),
    whole or abbreviated to at least 7 digits.
    """
    ordered = sorted(events, key=lambda event: (event.ts, event.id))
    commits = _Commits(ordered)
    by_task: dict[str, list[Event]] = {}
    for event in ordered:
        for task in [event.task] if event.task else commits.tasks(event):
            by_task.setdefault(task, []).append(event)
    return by_task


class _Commits:
    """The tasks of each commit, as the events tell that name both."""

    def __init__(self, events: Sequence[Event]) -> None:
        self._tasks: dict[str, dict[tuple[str, str], None]] = {}
        for event in events:
            sha = _text(event.fields, "commit_sha")
            if event.task and sha:
                self._tasks.setdefault(sha[:SHORT_SHA_CHARS], {})[sha, event.task] = None

    def tasks(self, event: Event) -> list[str]:
        sha = _text(event.fields, "commit_sha") or _text(event.fields, "reverts")
        near = self._tasks.get(sha[:SHORT_SHA_CHARS], {})
        found = [task for known, task in near if known.startswith(sha) or sha.startswith(known)]
        return list(dict.fromkeys(found))


def _text(fields: Mapping[str, object], name: str) -> str:
    value = fields.get(name)
    return value.lower() if isinstance(value, str) else ""
