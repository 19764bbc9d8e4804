"""Which files a proposal may not change because they are what judges it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from posixpath import basename, normpath


def protected_paths(touched: Sequence[str], *, protected: Sequence[str], intent: str) -> tuple[str, ...]:
    """Return those of `touched` that a pattern of `protected` matches and that `intent` does not name.

    Patterns are read as in a .gitignore, without regard to case: without a slash at any depth, a folder with all in it,
    `**` for any folders, a later `!pattern` taking back. `intent` is what the operator wrote, never what a model did;
    it names a file by its path, or by its file name as a word.
    """
    return tuple(path for path in touched if _is_protected(path, protected) and not _names(intent, normpath(path)))


def _is_protected(path: str, patterns: Sequence[str]) -> bool:
    parts = normpath(path).lower().split("/")
    verdict = False
    for pattern in patterns:
        if _matches(parts, _segments(pattern.removeprefix("!"))):
            verdict = not pattern.startswith("!")
    return verdict


def _segments(pattern: str) -> list[str]:
    segments = pattern.lower().strip("/").split("/")
    anchored = "/" in pattern.rstrip("/")
    return segments if anchored else ["**", *segments]


def _matches(parts: Sequence[str], segments: Sequence[str]) -> bool:
    if not segments:
        return True
    first, *rest = segments
    if first == "**":
        return bool(parts) and (not rest or any(_matches(parts[at:], rest) for at in range(len(parts))))
    return bool(parts) and fnmatchcase(parts[0], first) and _matches(parts[1:], rest)


def _names(intent: str, path: str) -> bool:
    either = "|".join(re.escape(name) for name in (path, basename(path)))
    return re.search(rf"(?<![\w/.-])(?:\./)?(?:{either})(?![\w/-]|\.\w)", intent, re.IGNORECASE) is not None
