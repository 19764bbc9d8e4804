"""Secrets that only their name gives away: `password = …`, `API_KEY=…`, `"token": "…"`, `--client-secret …`."""

from __future__ import annotations

import re
import string
from collections.abc import Iterator

from cipher_nb.masking.values import is_identifier, is_key, is_password

MOST_JUDGED = 48  # characters of a bare value: enough to tell, and it bounds what hostile text can cost
NAME = "assigned-secret"
WORDS = (
    "an assigned secret: the value of a password, passphrase, secret, token, credential or key (api, access, auth …) "
    "in code, .env, YAML, JSON, XML, query strings and command lines"
)

_PASSWORDS = r"passw(?:or)?d|passphrase|passcode|pwd|[_-](?:pass|pw)(?![a-z])"
_KEYS = (
    r"(?:api|access|secret|auth|private|encryption|signing|account|master|client|admin|app|consumer|service|storage)"
    r"[_-]?key(?:_base)?|secret|token|credential"
)
_NAMED = re.compile(rf"(?P<password>{_PASSWORDS})|{_KEYS}")
_SENSITIVE_KEY = re.compile(rf"(?:{_PASSWORDS}|{_KEYS})s?$")
_HINTS = ("pass", "pwd", "_pw", "-pw", "secret", "token", "key", "credential")

_TYPE = r"(?::[ \t]?[A-Za-z][\w.\[\]| ]{0,40}(?==))?"
_SIGN = re.compile(
    rf"(?:[_-]?\d{{1,2}})?(?:\\?[\"'`])?\]?{_TYPE}[ \t]{{0,20}}(?P<sign>=>|:=|=(?!=|~[ /])|:(?![:=]))[ \t]{{0,20}}"
)
_FLAG_GAP = re.compile(r"[ \t]{1,4}(?=[^\s-])")
_TAG_END = re.compile(r">(?P<value>[^<>\s]{4,300})</")
_QUOTED = re.compile(
    r"[bBrRuU]{0,2}(?:\\\"(?P<escaped>[^\"\n\\]++)|\"(?P<double>(?:[^\"\n\\]|\\.)++)"
    r"|'(?P<single>(?:[^'\n\\]|\\.)++)|`(?P<tick>[^`\n]++))"
)
_BARE_CHAR = r"(?:[^\s\"'`&;<>\\]|[&;](?![\w. -]{1,40}=|\s|$))"
_BARE = re.compile(rf"{_BARE_CHAR}{{4,{MOST_JUDGED}}}+")
_BARE_REST = re.compile(rf"{_BARE_CHAR}*+")
_REST_OF_LINE = re.compile(r"[,;]?[ \t]*(?:[#\n\r]|//|$)")
_ASCII_LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)


def spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield where the secrets of assignments begin and end, in order."""
    lowered = text.lower()
    if not is_possible(lowered):
        return
    if len(lowered) != len(text):
        lowered = text.translate(_ASCII_LOWER)
    done = 0
    for name in _NAMED.finditer(lowered):
        if name.start() < done:
            continue
        span = _value(text, name)
        if span:
            done = span[1]
            yield span


def is_possible(lowered: str) -> bool:
    """Return False where a text, given in small letters, has no word that could name a secret; cheap."""
    return any(hint in lowered for hint in _HINTS)


def is_sensitive(key: str) -> bool:
    """Return whether the value under `key` of a mapping is a secret by its name alone."""
    lowered = key.lower()
    return is_possible(lowered) and bool(_SENSITIVE_KEY.search(lowered))


def _value(text: str, name: re.Match[str]) -> tuple[int, int] | None:
    if sign := _SIGN.match(text, name.end()):
        if quoted := _QUOTED.match(text, sign.end()):
            return _whole_value(name, quoted)
        return _bare_value(text, name, sign)
    if tag := _TAG_END.match(text, name.end()):
        return _whole_value(name, tag)
    if (gap := _FLAG_GAP.match(text, name.end())) and _is_flag(text, name.start()):
        return _bare_value(text, name, gap)
    return None


def _whole_value(name: re.Match[str], found: re.Match[str]) -> tuple[int, int] | None:
    group = found.lastgroup or 0
    value = found[group]
    fits = is_password(value, bare=False, words=True) if name["password"] else is_key(value, bare=False)
    return found.span(group) if fits else None


def _bare_value(text: str, name: re.Match[str], sign: re.Match[str]) -> tuple[int, int] | None:
    found = _BARE.match(text, sign.end())
    if found is None or text[name.end()] in "\"'`\\":  # what JSON and code leave unquoted is no text
        return None
    value = found[0].rstrip(",.:)]}").partition(",")[0]
    if not is_key(value, bare=True):
        cut, is_flag = len(value) < len(found[0]), _is_flag(text, name.start())
        spaced = not is_flag and sign[0].strip(" \t") != sign[0]
        words = (is_flag and "=" in sign[0]) or text[name.start() : name.end()].isupper()
        if not name["password"] or not is_password(value, bare=True, words=words):
            return None
        if is_identifier(value) and (cut or (spaced and sign["sign"] != ":")):
            return None
        if spaced and not _REST_OF_LINE.match(text, found.end()):
            return None
    rest = _BARE_REST.match(text, found.end())  # a secret is masked to its end, however much of it was judged
    secret = text[found.start() : rest.end() if rest else found.end()].rstrip(",.:)]}")
    return found.start(), found.start() + len(secret)


def _is_flag(text: str, start: int) -> bool:
    word = text[max(0, start - 40) : start].rpartition(" ")[2]
    return word.startswith("--")
