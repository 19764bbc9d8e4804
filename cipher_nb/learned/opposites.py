"""Which patterns say the opposite of each other.

A pattern is read as a stance. Seen are

- negations before the verb or right after it: "Adds type hints" against "Never adds type hints", "Avoids type hints",
  "Without type hints", "Adds no type hints"; and "with X" against "without X";
- choices: "Prefers X over Y" against "Uses Y instead of X" or "Uses Y, not X";
- words that exclude each other: "Uses tabs" against "Uses spaces".

All the rest has to be the same, word for word but for articles: "Uses async in handlers" quarrels neither with "Never
uses async in tests" nor with "Avoids async". A line dropped wrongly is worse than two lines that quarrel, so what needs
knowledge of the world ("Uses pytest" against "Uses unittest"), other words for one thing, other languages than English
and second clauses are not seen.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from cipher_nb.learned.vocabulary import (
    ARTICLES,
    CHOICES,
    EXCLUDING,
    FILLERS,
    NEGATIONS,
    NO_NEGATION,
    PLACES,
    SUBJECTS,
    VERBS,
)

_SIDE = re.compile(rf"(?<![\w-])(?:{'|'.join(CHOICES)})(?![\w-])", re.IGNORECASE)
_CHOICE = re.compile(r"\s+(?:instead of|rather than|over)\s+|,\s*(?:and\s+|but\s+)?(?:not|never)\s+", re.IGNORECASE)
_PREFERENCE = re.compile(r"\b(prefers?\s+(?!to\b|not\b).+?)\s+to\s+", re.IGNORECASE)
_SHORT_NOT = re.compile(r"n['’]t\b")


@dataclass(frozen=True)
class Stance:
    """For or against doing `verb` ("" where the pattern names none of ours) with what it is `about`.

    Where that takes one `side` of a choice, `choice` names it; else both are "".
    """

    verb: str
    about: str
    is_for: bool
    choice: str = ""
    side: str = ""


@dataclass(frozen=True)
class _Clause:
    verb: str
    words: tuple[str, ...]
    is_for: bool


def opposite(one: Stance, other: Stance) -> bool:
    """Tell whether nobody can follow both."""
    if one.about == other.about and one.is_for != other.is_for:
        against, in_favour = (other, one) if one.is_for else (one, other)
        return against.verb in ("", in_favour.verb)
    same_choice = bool(one.choice) and (one.choice, one.verb) == (other.choice, other.verb)
    return same_choice and one.side != other.side and one.is_for and other.is_for


@lru_cache(maxsize=2_048)
def stance(pattern: str) -> Stance | None:
    """Return what the pattern stands for, or None where that is not sure."""
    text = _SHORT_NOT.sub(" not", _PREFERENCE.sub(r"\1 over ", pattern, count=1))
    clauses = [_clause(part) for part in _CHOICE.split(text)]
    if pattern.endswith("...") or len(clauses) > 2 or not all(clause and clause.words for clause in clauses):
        return None
    first, *second = [clause for clause in clauses if clause]
    return _preferred(first, second[0]) if second else _claimed(first)


def contradicted(patterns: Iterable[str]) -> dict[str, str]:
    """Return which of `patterns`, strongest first, say the opposite of a stronger one that stands, and of which."""
    standing: defaultdict[str, list[tuple[str, Stance]]] = defaultdict(list)
    lost: dict[str, str] = {}
    for pattern in patterns:
        own = stance(pattern)
        if own is None:
            continue
        rivals = [*standing[own.about], *standing[own.choice]]
        winner = next((name for name, other in rivals if opposite(own, other)), None)
        if winner is not None:
            lost[pattern] = winner
            continue
        for key in {own.about, own.choice} - {""}:
            standing[key].append((pattern, own))
    return lost


def _clause(text: str) -> _Clause | None:
    """Return verb, object and direction of `text`; None where a negation in it negates less than the whole."""
    words = _words(text)
    verb, is_for, place = "", True, 0
    for place, word in enumerate(words):
        if word in NEGATIONS:
            is_for = not is_for
            if words[place + 1 : place + 2] and words[place + 1] in NO_NEGATION:
                return None
        elif word in VERBS and verb in ("", "use"):
            verb = VERBS[word]
        elif not _is_filler(word, verb, place):
            break
    else:
        place = len(words)
    return _Clause(verb, tuple(words[place:]), is_for)


def _is_filler(word: str, verb: str, place: int) -> bool:
    if place == 0 and (word in SUBJECTS or word == "with"):
        return True
    return word in FILLERS and (not verb or word == "to")


def _words(text: str) -> list[str]:
    lowered = text[:1].lower() + text[1:] if text[1:2].islower() else text
    words = (word.strip("\"'`“”‘’").rstrip(".,;:!?") for word in lowered.split())
    return [word for word in words if word and word not in ARTICLES]


def _claimed(clause: _Clause) -> Stance:
    words, is_for = list(clause.words), clause.is_for
    if clause.verb and words.count("without") == 1:
        words[words.index("without")] = "with"
        is_for = not is_for
    choice, side = _exclusive(clause.verb, " ".join(words))
    return Stance(clause.verb, " ".join([_stem(words[0]), *words[1:]]), is_for, choice, side)


def _exclusive(verb: str, text: str) -> tuple[str, str]:
    """Return the choice that `text` makes by a word of an exclusive pair, and the word; no choice where two are named.

    "Uses" excludes wherever the word stands, other verbs only at the end: "Keeps lines short" does, "Keeps short
    functions on one line" and "Adds async tests" leave room for the others.
    """
    found = list(_SIDE.finditer(text))
    if len(found) != 1:
        return "", ""
    start, end = found[0].span()
    if verb != "use" and not (verb in EXCLUDING and end == len(text)):
        return "", ""
    side = text[start:end].lower()
    return text[:start] + CHOICES[side] + text[end:], side


def _preferred(chosen: _Clause, refused: _Clause) -> Stance | None:
    (side, place), (other, other_place) = _apart(chosen.words), _apart(refused.words)
    if not refused.is_for or refused.words[0] in NO_NEGATION or (place and other_place):
        return None
    where = f" {place or other_place}".rstrip()
    choice = "|".join(sorted((side, other))) + where
    return Stance(chosen.verb or "use", f"{side} over {other}{where}", chosen.is_for, choice, side)


def _apart(words: tuple[str, ...]) -> tuple[str, str]:
    """Return what is chosen, and where: `tabs`, `in Makefiles`."""
    cut = next((place for place, word in enumerate(words) if place and word in PLACES), len(words))
    return " ".join(words[:cut]), " ".join(words[cut:])


def _stem(word: str) -> str:
    """Return one form for test, tests and testing; crude, since two forms only meet in otherwise equal patterns."""
    return re.sub(r"(?<=\w{4})ing$|(?<=\w{3})(?:es|(?<!s)s|e)$", "", word)
