"""Verified pairs: which of the operator's tasks may be trained on."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import orjson

from cipher_nb.jsonl import read_lines
from cipher_nb.model import Message
from cipher_nb.records import UNDATED, Event, Turn
from cipher_nb.training.data.history import histories

VOUCHING = ("approval", "ship")
REJECTED_LATER = "rejected after its approval"


@dataclass(frozen=True)
class Pair:
    """A prompt that ends with a user turn, and the answer to learn.

    `source` is "approved", "practice:<category>", "replay", or "rejected" where the answer is one not to give.
    `finished` is False for an answer that was cut off, by a token limit or the operator: training then teaches its
    text, but not that it ends there.
    """

    messages: tuple[Message, ...]
    response: str
    event_ids: tuple[str, ...] = ()
    task: str = ""
    source: str = "approved"
    finished: bool = True

    @property
    def id(self) -> str:
        """16 hex digits over what is learned and where it came from; event ids do not count."""
        content = [[dict(message) for message in self.messages], self.response, self.task, self.source, self.finished]
        return hashlib.sha256(orjson.dumps(content, option=orjson.OPT_SORT_KEYS)).hexdigest()[:16]

    @property
    def question(self) -> str:
        """The user's last words, without the examples or turns before them."""
        return self.messages[-1]["content"]

    @property
    def user_text(self) -> str:
        """The prompt without its system text, which all prompts share."""
        return "\n".join(message["content"] for message in self.messages if message["role"] != "system")

    def to_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "messages": [dict(message) for message in self.messages],
            "response": self.response,
            "event_ids": list(self.event_ids),
            "task": self.task,
            "source": self.source,
            "finished": self.finished,
        }

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> Pair:
        return cls(
            messages=tuple(row["messages"]),
            response=row["response"],
            event_ids=tuple(row["event_ids"]),
            task=row["task"],
            source=row["source"],
            finished=row["finished"],
        )


@dataclass(frozen=True)
class Collected:
    """The pairs that qualify, oldest task first, and every approved task that does not, with the reason."""

    pairs: tuple[Pair, ...]
    dropped: tuple[tuple[str, str], ...]


def collect(events: Iterable[Event], turns: Iterable[Turn], *, since: datetime | None) -> Collected:
    """Return a pair for each task that the operator approved or shipped at or after `since` and a gate verified.

    A task's prompt is that of its first proposal, its response the last one made before both the last passed gate and
    the last approval or ship; a conversation gives its last turn instead, prompt and all. A gate belongs to a task by
    the task's id or by the commit that shipped it; one that passed is enough, whatever failed before or after. A
    rejection after the last approval takes the task out. Order of the arguments does not matter.
    """
    turns_of = by_task(turns)
    pairs, dropped = [], []
    for task, history in histories(events).items():
        if not any(since is None or event.ts >= since for event in vouching(history)):
            continue
        outcome = _pair(history, turns_of.get(task, []))
        if isinstance(outcome, Pair):
            pairs.append(outcome)
        else:
            dropped.append((task, outcome))
    return Collected(tuple(pairs), tuple(dropped))


def _pair(history: Sequence[Event], turns: Sequence[Turn]) -> Pair | str:
    """Return the task's pair, or why it has none."""
    vouched, passed = vouching(history), passed_gates(history)
    if rejected_after(history, vouched[-1]):
        return REJECTED_LATER
    if not passed:
        return "no gate passed"
    if not turns:
        return "no transcript"
    by = min((event.ts for event in (passed[-1], vouched[-1]) if event.ts != UNDATED), default=None)
    verified = [turn for turn in turns if by is None or turn.ts <= by]
    if not verified:
        return "no turn before it was approved and its gate passed"
    said_so = [event for event in history if event in vouched or event in passed]
    return pair_from(verified, said_so, source="approved")


def by_task(turns: Iterable[Turn]) -> dict[str, list[Turn]]:
    """Return the turns of each task, oldest first."""
    turns_of: dict[str, list[Turn]] = {}
    for turn in sorted(turns, key=lambda turn: (turn.ts, turn.attempt, turn.id)):
        turns_of.setdefault(turn.task, []).append(turn)
    return turns_of


def pair_from(turns: Sequence[Turn], events: Iterable[Event], *, source: str) -> Pair | str:
    """Return the pair of a task's `turns`, with the events behind it; or why there is none.

    The prompt of the first proposal, the reply of the last one; of a conversation its last turn, prompt and all.
    """
    proposals = [turn for turn in turns if turn.kind == "proposal"]
    first, last = (proposals[0], proposals[-1]) if proposals else (turns[-1], turns[-1])
    if not first.messages or first.messages[-1]["role"] != "user":
        return "its prompt does not end with a user turn"
    if not last.reply.strip():
        return "its reply is empty"
    return Pair(
        tuple(dict(message) for message in first.messages),
        last.reply,
        tuple(event.id for event in events if event.id),
        last.task,
        source=source,
        finished=last.finish not in ("length", "aborted"),
    )


def vouching(history: Iterable[Event]) -> list[Event]:
    return [event for event in history if event.type in VOUCHING]


def passed_gates(history: Iterable[Event]) -> list[Event]:
    return [event for event in history if event.type == "gate" and event.fields.get("passed") is True]


def rejected_after(history: Iterable[Event], event: Event) -> bool:
    """Return whether a rejection came after `event`; one of the same moment did, and one that tells no time."""
    return any(each.type == "rejection" and (each.ts >= event.ts or each.ts == UNDATED) for each in history)


def read_pairs(path: Path) -> list[Pair]:
    """Return the pairs of a JSONL file in file order; rows that are no pairs are left out."""
    return [Pair.from_json(row) for row in read_lines(path) if "response" in row and "messages" in row]
