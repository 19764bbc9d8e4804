"""Is this value a secret, or what stands in its place in code, templates and documentation?"""

from __future__ import annotations

import re
from itertools import pairwise

_NO_SECRETS = frozenset(
    """any apikey api_key auto bar basic baz bearer bool bytes default disabled empty enabled environment false file foo
    foobar hidden int key keyring login masked nil no none null off omitted on optional pass passcode passphrase passwd
    password prompt pw pwd qux redacted removed required secret spam stdin str string test testing text todo token true
    undefined unset user username value vault yes""".split()  # noqa: SIM905 - a list of 60 quoted words hides them
)
_TEMPLATE = re.compile(r"(?:<.*>|\[.*\]|\{.*\}|\(.*\)|%\w+%|\$[A-Za-z_]\w*|\\[A-Za-z].*|~?\.{0,2}/.*|[A-Za-z]:\\.*)$")
_FILLERS = (
    *("<masked:", "${", "$(", "{{", "%(", "%s", "://", "...", "…", "***", "xxxx", "example", "placeholder", "redacted"),
    *("dummy", "insert", "changeme", "change_me", "change-me", "your_", "your-", "not-a-", "not_a_"),
    *("mysecret", "my_secret", "my-secret", "mytoken", "my_token", "my-token", "mypass", "my_pass", "my-pass"),
)
_FIELD = re.compile(r"\{\w*\}")
_NUMBER_OR_DATE = re.compile(r"[vV]?\d+(?:\.\d+)+|\d{4}-\d{2}-\d{2}.*|sha\d+[:-].*|\d+[kKmMgGsh%]?")
_EXPRESSION = re.compile(r"[(\[{<]|[A-Za-z_][\w.]*[(\[]|[A-Za-z_]\w*(?:::|->)\w")
_NAME_OR_FLAG = re.compile(r"[*&%!@]|--?[A-Za-z]|[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+$")
_PLAIN_WORDS = re.compile(r"[A-Za-z_]+(?:[ .-][A-Za-z_]+)*[.:!?]?")
_WORD = re.compile(r"(?![a-z]*(?:pass|word|secret|token|user))[a-z]{6,}")
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")


def is_placeholder(value: str) -> bool:
    """Return whether `value` stands in a secret's place: `None`, `${TOKEN}`, `<your key>`, `****`."""
    lowered = value.lower()
    if lowered in _NO_SECRETS or len(set(value)) < 3 or any(filler in lowered for filler in _FILLERS):
        return True
    return bool(_TEMPLATE.match(value) or ("{" in value and _FIELD.search(value)))


def is_password(value: str, *, bare: bool, words: bool) -> bool:
    """Return whether `value`, which stands behind a name like `password`, is one that a person may have chosen.

    A `bare` value, without quotes, may be code. With `words` a password may be nothing but small letters.
    """
    if len(value) < 4 or is_placeholder(value) or any(char.isspace() for char in value):
        return False
    if bare and _is_code(value):
        return False
    if _PLAIN_WORDS.fullmatch(value):
        return words and bool(_WORD.fullmatch(value))
    return len(value) > 5 or not value.isdigit()


def is_key(value: str, *, bare: bool) -> bool:
    """Return whether `value`, which stands behind a name like `token` or `api_key`, looks generated."""
    if len(value) < 8 or is_placeholder(value) or any(char.isspace() for char in value):
        return False
    if _NUMBER_OR_DATE.fullmatch(value) or (bare and _is_code(value)):
        return False
    return _changes(value) >= max(4 if bare else 3, len(value) // 6)


def is_identifier(value: str) -> bool:
    return bool(_IDENTIFIER.fullmatch(value))


def _is_code(value: str) -> bool:
    if _EXPRESSION.match(value):
        return True
    return bool(_NAME_OR_FLAG.match(value)) and _changes(value) < max(4, len(value) // 4)


def _changes(value: str) -> int:
    """Count how often letters turn to digits or back, or capitals follow small letters: names do it rarely."""
    kinds = [1 if char.isdigit() else 2 if char.islower() else 3 for char in value if char.isalnum()]
    return sum(before != after and (before, after) != (3, 2) for before, after in pairwise(kinds))
