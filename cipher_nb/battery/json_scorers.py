"""Scores for answers in JSON: equal to the target, or valid under it."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from jsonschema.protocols import Validator


def json_equal(target: str, answer: str) -> float:
    """Return 1 if the first JSON object or array in the answer equals the target, spacing and key order aside."""
    found = first_json(answer)
    return float(found is not None and _canonical(found) == _canonical(first_json(target)))


def json_valid(target: str, answer: str) -> float:
    """Return 1 if the first JSON object or array in the answer is valid under the JSON schema `target`.

    References out of the schema are never fetched.
    """
    found = first_json(answer)
    try:
        return float(found is not None and _validator(target).is_valid(found))
    except RecursionError:  # nested deeper than anybody would ask for
        return 0.0


def first_json(text: str) -> Any:
    """Return the JSON object or array that begins at the first bracket of `text`, or None if none does."""
    start = re.search(r"[\[{]", text)
    try:
        return _DECODER.raw_decode(text, start.start())[0] if start else None
    except (ValueError, RecursionError):
        return None


@lru_cache(maxsize=256)
def _validator(schema: str) -> Validator:
    from jsonschema.validators import Draft202012Validator, validator_for
    from referencing import Registry

    parsed = json.loads(schema)
    return validator_for(parsed, default=Draft202012Validator)(parsed, registry=Registry())


def _canonical(value: object) -> str:
    return json.dumps(value, sort_keys=True)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant)
