"""What a small function to write or repair consists of, and the names and constants that either side uses."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cipher_nb.battery.samples import Side

Constants = Mapping[Side, Sequence[Any]]


@dataclass(frozen=True)
class Task:
    """One function: its name and docstring on either side, a right and a wrong expression, and the right value.

    `{x}` stands for the argument, `{k}` for one of `constants` (`solve` takes both), `{v}` for a loop's variable.
    `extra` are inputs besides those that every function of one argument type is tried on.
    """

    practice: tuple[str, str]
    sealed: tuple[str, str]
    right: str
    wrong: str
    solve: Callable[[Any, Any], Any]
    constants: Constants
    extra: Sequence[Any] = ()


ARGUMENTS: Mapping[Side, Mapping[str, tuple[str, ...]]] = {
    "practice": {
        "number": ("n", "x", "number", "num", "size", "height", "total", "score", "index", "year"),
        "text": ("text", "s", "word", "phrase", "sentence", "body", "message", "content", "raw", "string"),
        "list": ("items", "xs", "values", "numbers", "data", "nums", "seq", "elements", "things", "results"),
    },
    "sealed": {
        "number": ("value", "amount", "price", "level", "rate", "width", "delay", "depth", "weight", "age"),
        "text": ("line", "title", "label", "note", "caption", "header", "subject", "reply", "token", "quote"),
        "list": ("rows", "entries", "records", "scores", "prices", "readings", "samples", "points", "marks", "ids"),
    },
}
LOOP_VARIABLES: Mapping[Side, tuple[str, ...]] = {"practice": ("v", "i", "k"), "sealed": ("e", "j", "z")}
INPUTS: Mapping[str, tuple[Any, ...]] = {
    "number": (0, 1, -7, 10, 12),
    "text": ("", "a", "Ab cde", " two  words ", "noon"),
    "list": ([], [5], [3, 1, 2], [4, 4, 7, -2], [20, 9, 20, 6, 13]),
}
NONE: Constants = {"practice": (None,), "sealed": (None,)}
NUMBERS: Constants = {"practice": (4, 5, 8, 9, 12, 13, 16, 20), "sealed": (3, 6, 7, 10, 11, 14, 15, 18)}
SMALL: Constants = {"practice": (2, 4), "sealed": (3, 5)}
STARTS: Constants = {"practice": ("#", "/", "--", "no"), "sealed": ("@", "$", "A", "tw")}
SIGNS: Constants = {"practice": ("-", ".", ";", "|"), "sealed": ("_", "+", ",", "/")}
