"""Which side of a failed comparison was expected, and which was found."""

from __future__ import annotations

import ast
import re

_OPERATORS = ("==", "!=", "<=", ">=", "<", ">", "not in", "in", "is not", "is")
_OPERATOR = re.compile("|".join(f" {operator} " for operator in _OPERATORS))
_OPENING, _CLOSING, _QUOTES = "([{", ")]}", "'\""


def expected_and_found(claim: str, *, statement: str = "") -> tuple[str, str]:
    """Return what `claim` (`6 == 5`, as pytest writes it) wanted, and what was there.

    The right side is what was expected, unless `statement`, the source line, has its only literal on the left.
    """
    if claim.startswith("not "):
        return "a false value", claim.removeprefix("not ")
    split = _split(claim)
    if split is None:
        return "a true value", claim
    left, operator, right = split
    if operator in ("==", "is"):
        return (left, right) if has_literal_left(statement) else (right, left)
    return f"{operator} {right}", left


def has_literal_left(statement: str) -> bool:
    """Say whether `assert 5 == f()` or `assertEqual(5, f())` names what it expects first."""
    try:
        parsed = ast.parse(statement).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    match parsed:
        case [ast.Assert(test=ast.Compare(left=left, comparators=[right]))]:
            return _is_literal(left) and not _is_literal(right)
        case [ast.Expr(value=ast.Call(args=[left, right, *_]))]:
            return _is_literal(left) and not _is_literal(right)
    return False


def _is_literal(node: ast.expr) -> bool:
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError, RecursionError, MemoryError):
        return False
    return True


def _split(claim: str) -> tuple[str, str, str] | None:
    """Split at the first comparison that stands outside brackets and quotes."""
    depth, quote, index = 0, "", 0
    while index < len(claim):
        char = claim[index]
        if quote:
            index += char == "\\"
            quote = "" if char == quote else quote
        elif char in _QUOTES:
            quote = char
        elif char in _OPENING or char in _CLOSING:
            depth += 1 if char in _OPENING else -1
        elif depth == 0 and (operator := _OPERATOR.match(claim, index)):
            return claim[:index].strip(), operator[0].strip(), claim[operator.end() :].strip()
        index += 1
    return None
