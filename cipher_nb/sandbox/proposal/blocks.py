"""Search/replace blocks in a reply: the form for models that cannot write JSON."""

from __future__ import annotations

import re
from collections.abc import Sequence

from cipher_nb.errors import ProposalError

_SEARCH = re.compile(r"^<{5,9} ?SEARCH\s*$", re.MULTILINE)
_DIVIDER = re.compile(r"={7}\s*")
_REPLACE = re.compile(r">{5,9} ?REPLACE\s*")
_FENCE = re.compile(r"\s*(`{3,}|~{3,})")
_DECORATION = " \t*`#:\"'"


def has_blocks(text: str) -> bool:
    """Tell whether a line of `text` begins a block."""
    return _SEARCH.search(text) is not None


def find_blocks(text: str) -> list[dict[str, str]]:
    """Return the blocks of `text` as edits of a JSON proposal, in their order.

    A block is a line with the path, then `<<<<<<< SEARCH`, the lines to find, `=======`, the lines to put there, and
    `>>>>>>> REPLACE`; a fence may stand around it. Without a path of its own it is for the file of the block before.
    Raises ProposalError naming the block.
    """
    lines = text.split("\n")
    edits: list[dict[str, str]] = []
    path, since, at = "", 0, 0
    while at < len(lines):
        if not _SEARCH.match(lines[at]):
            at += 1
            continue
        number = len(edits) + 1
        path = _path(lines[since:at]) or path
        if not path:
            raise ProposalError(
                f"block {number} (line {at + 1}) has no path; put the file's path on the line before it"
            )
        divider, end = _ends(number, lines, at)
        search, replacement = _whole(lines[at + 1 : divider]), _whole(lines[divider + 1 : end])
        edits.append({"op": "replace", "path": path, "search": search, "replace": replacement})
        since = at = end + 1
    return edits


def _ends(number: int, lines: Sequence[str], start: int) -> tuple[int, int]:
    """Return where the two parts of a block end."""
    end = next((at for at in range(start + 1, len(lines)) if _REPLACE.fullmatch(lines[at])), None)
    if end is None or any(_SEARCH.match(line) for line in lines[start + 1 : end]):
        raise ProposalError(f"block {number} (line {start + 1}) has no end; close it with >>>>>>> REPLACE")
    dividers = [at for at in range(start + 1, end) if _DIVIDER.fullmatch(lines[at])]
    if len(dividers) != 1:
        raise ProposalError(
            f"block {number} (line {start + 1}) has {len(dividers)} lines of =======; "
            "it takes one, and files with such lines are edited by JSON"
        )
    return dividers[0], end


def _path(lines: Sequence[str]) -> str:
    """Return the last line that is no fence, without what Markdown puts around a name."""
    named = [line for line in lines if line.strip() and not _FENCE.match(line)]
    return re.sub(r"^(?i:file|filename|path):\s*", "", named[-1].strip(_DECORATION)).strip(_DECORATION) if named else ""


def _whole(lines: Sequence[str]) -> str:
    return "".join(f"{line}\n" for line in lines)
