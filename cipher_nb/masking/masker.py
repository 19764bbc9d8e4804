"""The masker: every secret that is recognised gives way to a mark that names its kind."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from cipher_nb.errors import ConfigError
from cipher_nb.masking import assignments
from cipher_nb.masking.kinds import SHAPES, Kind

OWN = "own-pattern"
KINDS: Mapping[str, str] = {
    **{kind.name: kind.words for kind in SHAPES},
    assignments.NAME: assignments.WORDS,
    OWN: "an operator's own pattern: whatever [bus] secrets of cipher.toml says",
}
"""What is masked: the name in the mark, and what it is in words, the thing alone up to a colon."""

_TRIGGERS = tuple((trigger, kind) for kind in SHAPES for trigger in kind.triggers)
_MARK = re.compile(r"(<masked:[a-z-]+>)")
_Found = Callable[[str], None]


class Masker:
    """Masks secrets in text and in values.

    `extra` are regular expressions of the operator's own; where one has a group, only the first group is masked. Raises
    ConfigError for one that is none.
    """

    def __init__(self, extra: Sequence[str] = ()) -> None:
        self._own = tuple(_compiled(pattern) for pattern in extra)

    def text(self, text: str) -> str:
        """Return `text` with each secret replaced by e.g. `<masked:github-token>`; its surroundings stay.

        Masked text is returned as it is. Time grows linearly; a line without secrets costs a few microseconds.
        """
        return self._masked(text, _possible(text), _forget)

    def value(self, value: Any) -> Any:
        """Return `value` with the texts in it masked, through dicts, lists and tuples.

        A text under a key such as password, token or api_key is masked whole. Keys and all other types stay.
        """
        everything = "\n".join(_texts(value))
        kinds = _possible(everything)
        if not kinds and not self._own and not assignments.is_possible(everything.lower()):
            return value
        return self._through(value, kinds)

    def kinds(self, text: str) -> list[str]:
        """Return the names of the kinds of secrets in `text`, each once, in the order of `KINDS`."""
        found: set[str] = set()
        self._masked(text, _possible(text), found.add)
        return [name for name in KINDS if name in found]

    def _through(self, value: Any, kinds: Sequence[Kind]) -> Any:
        if isinstance(value, str):
            return self._masked(value, kinds, _forget)
        if isinstance(value, Mapping):
            return {key: self._under(key, self._through(item, kinds)) for key, item in value.items()}
        if isinstance(value, list | tuple):
            items = [self._through(item, kinds) for item in value]
            return items if isinstance(value, list) else tuple(items)
        return value

    def _under(self, key: object, masked: Any) -> Any:
        if not (isinstance(masked, str) and masked and isinstance(key, str) and assignments.is_sensitive(key)):
            return masked
        return masked if _MARK.fullmatch(masked) else _mark(assignments.NAME)

    def _masked(self, text: str, kinds: Sequence[Kind], found: _Found) -> str:
        for kind in kinds:
            text = _mask_shape(text, kind, found)
        text = _mask_assignments(text, found)
        for pattern in self._own:
            text = _mask_own(text, pattern, found)
        return text


def _compiled(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise ConfigError(f"[bus] secrets = {pattern!r} is no regular expression ({error})") from error


def _texts(value: Any) -> Iterator[str]:
    """Yield all texts in `value`, keys included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _texts(key)
            yield from _texts(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item)


def _possible(text: str) -> list[Kind]:
    """Return the kinds of which `text` holds a trigger, in order; a look for a literal is far cheaper than a regex."""
    return list(dict.fromkeys([kind for trigger, kind in _TRIGGERS if trigger in text]))


def _mark(name: str) -> str:
    return f"<masked:{name}>"


def _forget(name: str) -> None:
    """What is found interests nobody."""


def _mask_shape(text: str, kind: Kind, found: _Found) -> str:
    def replacement(match: re.Match[str]) -> str:
        group = match.lastindex or 0
        if kind.fits and not kind.fits(match[group]):
            return match[0]
        found(kind.name)
        return _with_mark(match, group, kind.name)

    return kind.shape.sub(replacement, text)


def _mask_assignments(text: str, found: _Found) -> str:
    pieces, done = [], 0
    for start, end in assignments.spans(text):
        pieces += [text[done:start], _mark(assignments.NAME)]
        done = end
        found(assignments.NAME)
    return "".join([*pieces, text[done:]]) if pieces else text


def _mask_own(text: str, pattern: re.Pattern[str], found: _Found) -> str:
    def replacement(match: re.Match[str]) -> str:
        group = 1 if match.re.groups and match[1] is not None else 0
        if not match[group]:
            return match[0]
        found(OWN)
        return _with_mark(match, group, OWN)

    pieces = _MARK.split(text)  # marks stand at the odd places, and stay
    return "".join(piece if index % 2 else pattern.sub(replacement, piece) for index, piece in enumerate(pieces))


def _with_mark(match: re.Match[str], group: int, name: str) -> str:
    start, end = match.start(group) - match.start(), match.end(group) - match.start()
    return match[0][:start] + _mark(name) + match[0][end:]
