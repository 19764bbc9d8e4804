"""Replacing one passage of a file, which must be found exactly once."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from cipher_nb.errors import ProposalError
from cipher_nb.sandbox.proposal.nearest import nearest
from cipher_nb.sandbox.proposal.text import text_of

SHOWN_PLACES = 10
OR_WRITE = "or send op 'write' with the whole file"


def replaced(path: str, data: bytes, *, search: str, replacement: str) -> bytes:
    """Return the file with the one place of `search` replaced; ProposalError where it is found never or more than once.

    Line ends are the file's own in both: see `text`. A last line without a newline counts as a whole line, and its file
    still ends without one.
    """
    text = text_of(path, data)
    if not search:
        raise ProposalError(f"{path}: search is empty and the file is not; send text that is found once, {OR_WRITE}")
    sought, put = text.taken(search), text.taken(replacement)
    lacks_end = bool(text.body) and not text.body.endswith("\n") and sought.endswith("\n")
    body = text.body + "\n" * lacks_end
    _require_one(path, body, sought)
    result = body.replace(sought, put)
    return text.packed(result.removesuffix("\n") if lacks_end else result)


def _require_one(path: str, body: str, sought: str) -> None:
    count = sum(1 for _ in _places(body, sought))
    if count == 1:
        return
    if count == 0:
        near = nearest(body, sought)
        mend = f"copy it exactly as the file has it ({near or 'nothing in the file is like it'})"
    else:
        lines = [str(body.count("\n", 0, place) + 1) for place in islice(_places(body, sought), SHOWN_PLACES)]
        more = ", …" * (count > SHOWN_PLACES)
        mend = f"add the lines around it until it is found once (it is at lines {', '.join(lines)}{more})"
    raise ProposalError(f"{path}: search was found {count} times; {mend}, {OR_WRITE}")


def _places(body: str, sought: str) -> Iterator[int]:
    """Yield where it is found, overlapping places too: `aa` in `aaa` is not a unique place."""
    start = body.find(sought)
    while start >= 0:
        yield start
        start = body.find(sought, start + 1)
