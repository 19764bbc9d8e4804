"""The words a proposal is asked for with. Kept short: small models are trained on exactly this text."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath

from cipher_nb.model import Message
from cipher_nb.sandbox.excerpts import Excerpt, excerpts, notebook_as_text
from cipher_nb.sandbox.outcome import Feedback
from cipher_nb.sandbox.proposal.changes import read_state

PROMPT_TOKENS = 2_048
BYTES_PER_TOKEN = 3.5
FORM = """\
Answer with one JSON object:
{"intent": "...", "edits": [...]}
Each edit is one of
{"op": "write", "path": "...", "text": "the whole file"}
{"op": "replace", "path": "...", "search": "text found once", "replace": "..."}
{"op": "delete", "path": "..."}
{"op": "rename", "path": "...", "to": "..."}"""
CELL_FORM = '{"op": "cell", "path": "...", "cell": "the id of a cell", "source": "the whole cell"}'

CountTokens = Callable[[str], int]


def estimated_tokens(text: str) -> int:
    """Return about how many tokens `text` is, for a model whose tokenizer is not at hand."""
    return math.ceil(len(text.encode()) / BYTES_PER_TOKEN)


def first_messages(
    intent: str,
    *,
    root: Path,
    scaffold: str,
    files: Sequence[str],
    checks: Sequence[str],
    prompt_tokens: int = PROMPT_TOKENS,
    count_tokens: CountTokens = estimated_tokens,
) -> tuple[Message, ...]:
    """Return the question for a proposal; it needs nothing before it.

    The named files stand in it as they are in `root`, notebooks as cells with their ids. Scaffold, intent and checks
    always stand in it in full; files get what is left of `prompt_tokens`, first those that the intent names, each cut
    to whole lines around the names it speaks of. Raises UnsafePathError or ProposalError for a file that may not or
    cannot be read.
    """
    sources = [_Source.read(root, path) for path in files]
    form = f"{FORM}\n{CELL_FORM}" if any(source.is_notebook for source in sources) else FORM
    ending = ["Checks: " + "; ".join(checks)] if checks else []
    taken = count_tokens("\n".join([scaffold, f"Task: {intent}", *ending, form]))
    parts = _file_parts(sources, intent=intent, room=prompt_tokens - taken, count_tokens=count_tokens)
    system = [{"role": "system", "content": scaffold}] if scaffold else []
    return (*system, {"role": "user", "content": "\n".join([f"Task: {intent}", *parts, *ending, form])})


def retry_messages(first: Sequence[Message], reply: str, feedback: Feedback) -> tuple[Message, ...]:
    """Return the question for the next attempt: the talk so far and what failed, or the first question with lessons."""
    if not feedback.clean_start:
        return (*first, {"role": "assistant", "content": reply}, {"role": "user", "content": feedback.text})
    *before, question = first
    return (*before, {"role": "user", "content": f"{question['content']}\n{feedback.text}"})


@dataclass(frozen=True)
class _Source:
    """A named file; `text` is None where there is none to show, and `without` says so in its stead."""

    path: str
    text: str | None
    without: str
    is_notebook: bool = False

    @classmethod
    def read(cls, root: Path, path: str) -> _Source:
        state = read_state(root, path)
        if state is None:
            return cls(path, None, f"File {path}: does not exist yet")
        if path.lower().endswith(".ipynb"):
            try:
                text = notebook_as_text(state.data)
            except (ValueError, RecursionError):
                return cls(path, None, f"File {path}: is no notebook that can be read")
            return cls(path, text, f"File {path}: not shown, it is too long", is_notebook=True)
        if b"\0" in state.data:
            return cls(path, None, f"File {path}: binary, {len(state.data)} bytes")
        text = state.data.decode(errors="replace").rstrip()
        return cls(path, text, f"File {path}: not shown, it is too long")

    def part(self, shown: Sequence[Excerpt]) -> str:
        """Return the words and lines that show these excerpts, fenced so that no line of the file ends the fence."""
        if self.text is None or not shown:
            return self.without
        total = self.text.count("\n") + 1
        fence = "```"
        while fence in self.text:
            fence += "`"
        heads = [
            "" if excerpt.last - excerpt.first + 1 == total else f" (lines {excerpt.first}-{excerpt.last} of {total})"
            for excerpt in shown
        ]
        return "\n".join(
            f"File {self.path}{head}:\n{fence}\n{excerpt.text}\n{fence}"
            for head, excerpt in zip(heads, shown, strict=True)
        )


def _file_parts(sources: Sequence[_Source], *, intent: str, room: int, count_tokens: CountTokens) -> list[str]:
    """Return the parts in the order of the files; short files leave their share to the long ones."""
    parts = {number: source.without for number, source in enumerate(sources)}

    def cost(part: str) -> int:
        return count_tokens(f"{part}\n")

    def fits(source: _Source, share: int, shown: Sequence[Excerpt]) -> bool:
        return cost(source.part(shown)) <= share

    left = room - sum(map(cost, parts.values()))
    named = {number for number, source in enumerate(sources) if _is_named(source.path, intent)}
    for tier in (named, parts.keys() - named):
        waiting = sorted(tier, key=lambda number: (len(sources[number].text or ""), number))
        while waiting:
            number = waiting.pop(0)
            source = sources[number]
            if source.text is None:
                continue
            share = left // (len(waiting) + 1) + cost(source.without)
            shown = excerpts(source.text, intent=intent, fits=partial(fits, source, share))
            parts[number] = source.part(shown)
            left -= cost(parts[number]) - cost(source.without)
    return [parts[number] for number in range(len(sources))]


def _is_named(path: str, intent: str) -> bool:
    return PurePosixPath(path).name in intent
