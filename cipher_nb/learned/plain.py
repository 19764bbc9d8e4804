"""Patterns are text of anybody's: here they become one plain line that can pretend to be nothing else."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

MAX_PATTERN_CHARS = 120
READ_CHARS = 1_000
MARKS_IN_A_ROW = 4

_INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
_HEADING_NAMES = "doctrine|memory|learned|workspace|context|system|user|assistant|tool|inst"
_HEADING = re.compile(
    rf"(?<!\w)\[(\s*/?\s*(?:{_HEADING_NAMES})\b[^\[\]]*)\]?"  # anywhere, but not dict[tool, int]
    r"|^\[(\s*[^\W\d][^\[\]]*)\]?",  # whatever stands first, but not []
    re.IGNORECASE,
)
_TURN_TAGS = (
    "s|bos|eos|pad|unk|sys|think|tools?|tool_calls?|tool_response|(?:start|end)_of_(?:turn|image)|0x[0-9a-f]{2}"
)
_TURN_WORDS = "INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT|THINK|IMG"
_TURN = re.compile(rf"<(?=\||/?(?:{_TURN_TAGS})>)|(?-i:\[(?=/?(?:{_TURN_WORDS})\]))", re.IGNORECASE)


def plain_pattern(text: str) -> str:
    """Return `text` as one printable line of at most 120 characters that reads as no section, role or turn of its own.

    Control, bidi and invisible characters go, white space is collapsed, marks on one letter beyond four go, and a
    bracketed heading or a chat template's mark is written with parentheses. Of a longer text only the first 1,000
    characters are looked at.
    """
    return _plain(text[:READ_CHARS], len(text) > READ_CHARS)


@lru_cache(maxsize=2_048)
def _plain(text: str, is_cut: bool) -> str:
    visible = _INVISIBLE.sub("", "".join(char if char.isprintable() else " " * char.isspace() for char in text))
    folded = " ".join(_without_towers(unicodedata.normalize("NFKC", visible)).split())
    inert = _TURN.sub("(", _HEADING.sub(lambda heading: f"({heading[1] or heading[2]})", folded))
    if len(inert) > MAX_PATTERN_CHARS or (is_cut and inert):
        return inert[: MAX_PATTERN_CHARS - 3].rstrip() + "..."
    return inert


def _without_towers(text: str) -> str:
    if text.isascii():
        return text
    kept, row = [], 0
    for char in text:
        row = row + 1 if unicodedata.category(char).startswith("M") else 0
        if row <= MARKS_IN_A_ROW:
            kept.append(char)
    return "".join(kept)
