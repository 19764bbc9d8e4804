"""Two texts as HTML, with what only one of them says marked by more than a colour."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from html import escape

_WORDS = re.compile(r"\w+|\s+|[^\w\s]")
_MARKS = {
    "del": "background:#d55e0033;color:inherit;text-decoration:line-through",
    "ins": "background:#0072b233;color:inherit;text-decoration:underline",
}


def marked(before: str, after: str) -> tuple[str, str]:
    """Return both texts, escaped: words that are gone in `<del>` (struck out), new ones in `<ins>` (underlined).

    Texts that have no word in common are not marked at all: they are easier to read without.
    """
    old, new = _WORDS.findall(before), _WORDS.findall(after)
    same_old, same_new = [False] * len(old), [False] * len(new)
    for match in SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks():
        if any(map(str.strip, old[match.a : match.a + match.size])):  # a space in common means nothing
            same_old[match.a : match.a + match.size] = [True] * match.size
            same_new[match.b : match.b + match.size] = [True] * match.size
    if not any(same_old):
        return escape(before), escape(after)
    return _joined("del", old, same_old), _joined("ins", new, same_new)


def _joined(element: str, words: list[str], same: list[bool]) -> str:
    pieces = ((escape(word), kept) for word, kept in zip(words, same, strict=True))
    opening = f'<{element} style="{_MARKS[element]}">'
    html = "".join(word if kept else f"{opening}{word}</{element}>" for word, kept in pieces)
    return html.replace(f"</{element}>{opening}", "")
