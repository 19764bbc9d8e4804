"""One line of an operator's own samples: what is wrong with it, or the sample it stands for."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from string import ascii_uppercase
from typing import Any, get_args

from cipher_nb.battery.samples import Sample, Scorer, sample_id
from cipher_nb.battery.scorers import first_number
from cipher_nb.errors import suggestion
from cipher_nb.model import Message

KEYS = ("input", "target", "choices", "id", "metadata")
UNSUPPORTED = ("sandbox", "files", "setup")
ROLES = ("system", "user", "assistant")
SCORERS: tuple[Scorer, ...] = get_args(Scorer)
MAX_TOKENS = 64
MOST_TOKENS = 4_096


def faults_of(row: Mapping[str, Any]) -> list[str]:
    """Return everything that is wrong with a row, each in words that name the key, the value and the way out."""
    found = [*_key_faults(row), *_input_faults(row.get("input")), *_choice_faults(row), *_metadata_faults(row)]
    return found or list(_target_faults(row))


def sample_of(row: Mapping[str, Any], *, stem: str) -> Sample:
    """Return the sample of a row without faults; `stem` is its family, and its category where it names none.

    Its id changes with everything that its score depends on.
    """
    told = row.get("metadata") or {}
    category, scorer = str(told.get("category", stem)), _scorer(row)
    max_tokens = int(told.get("max_tokens", MAX_TOKENS))
    choices = tuple(ascii_uppercase[: len(row["choices"])]) if "choices" in row else ()
    messages, targets = _messages(row), _targets(row)
    content = json.dumps([scorer, max_tokens, *targets])
    name = sample_id(category, messages, target=content, choices=choices)
    return Sample(
        id=f"{row['id']}-{name.rsplit('-', 1)[1]}" if "id" in row else name,
        category=category,
        family=stem,
        side="sealed",
        messages=messages,
        target=targets[0],
        scorer=scorer,
        choices=choices,
        max_tokens=max_tokens,
        reference="" if scorer in ("schema", "regex", "code") else targets[0],
        must_pass=bool(told.get("must_pass", False)),
        other_targets=targets[1:],
    )


def _key_faults(row: Mapping[str, Any]) -> Iterator[str]:
    for key in row:
        if key in UNSUPPORTED:
            yield f"{key} is not supported here; leave it out"
        elif key not in KEYS:
            yield f"{key} is unknown; {suggestion(key, KEYS)}"
    name = row.get("id", "")
    if not isinstance(name, str | int) or isinstance(name, bool) or (name == "" and "id" in row):
        yield f"id = {_shown(name)} must be a text or a whole number"


def _input_faults(value: object) -> Iterator[str]:
    if isinstance(value, str) and value.strip():
        return
    if not isinstance(value, list) or not value:
        yield f"input = {_shown(value)} must be the question as text, or a list of messages"
        return
    for number, message in enumerate(value, 1):
        if not isinstance(message, dict) or set(message) != {"role", "content"}:
            yield f'input, message {number} = {_shown(message)} must be {{"role": …, "content": …}}'
        elif message["role"] not in ROLES:
            yield f"input, message {number}: role = {_shown(message['role'])} must be one of {', '.join(ROLES)}"
        elif not isinstance(message["content"], str):
            yield f"input, message {number}: content = {_shown(message['content'])} must be text"
    last = value[-1]
    if isinstance(last, dict) and last.get("role") in ("system", "assistant"):
        yield f"input ends with a message of the {last['role']}; end it with one of the user"


def _choice_faults(row: Mapping[str, Any]) -> Iterator[str]:
    if "choices" not in row:
        return
    choices = row["choices"]
    if not isinstance(choices, list) or not all(isinstance(choice, str) and choice.strip() for choice in choices):
        yield f"choices = {_shown(choices)} must be a list of texts"
    elif not 2 <= len(set(choices)) == len(choices) <= len(ascii_uppercase):
        yield f"choices = {_shown(choices)} must be 2 to {len(ascii_uppercase)} different texts"


def _metadata_faults(row: Mapping[str, Any]) -> Iterator[str]:
    told = row.get("metadata", {})
    if not isinstance(told, dict):
        yield f"metadata = {_shown(told)} must be an object"
        return
    category, scorer, tokens = told.get("category", "c"), told.get("scorer"), told.get("max_tokens", MAX_TOKENS)
    if not isinstance(category, str) or not category.strip() or not category.isprintable():
        yield f"metadata.category = {_shown(category)} must be a text of one line"
    if "scorer" in told and scorer not in SCORERS:
        yield f"metadata.scorer = {_shown(scorer)} is unknown; {suggestion(str(scorer), SCORERS)}"
    elif scorer == "choice" and "choices" not in row:
        yield 'metadata.scorer = "choice" needs choices; give them, or another scorer'
    elif "choices" in row and scorer not in (None, "choice"):
        yield f"metadata.scorer = {_shown(scorer)} does not go with choices; leave out one of them"
    if not isinstance(tokens, int) or isinstance(tokens, bool) or not 1 <= tokens <= MOST_TOKENS:
        yield f"metadata.max_tokens = {_shown(tokens)} must be a whole number from 1 to {MOST_TOKENS}"
    if not isinstance(told.get("must_pass", False), bool):
        yield f"metadata.must_pass = {_shown(told['must_pass'])} must be true or false"


def _target_faults(row: Mapping[str, Any]) -> Iterator[str]:
    value: Any = row.get("target")
    targets = value if isinstance(value, list) else [value]
    if not targets or not all(isinstance(target, str) and target.strip() for target in targets):
        yield f"target = {_shown(value)} must be the right answer as text, or a list of right answers"
        return
    for target in targets:
        wanted = _wanted(_scorer(row), target, row.get("choices", ()))
        if wanted:
            yield f"target = {_shown(target)} must be {wanted}"


def _wanted(scorer: Scorer, target: str, choices: Sequence[str]) -> str:
    """Return what a target for `scorer` has to be where `target` is not that, else ""."""
    if scorer == "choice" and not _letter(target, choices):
        return f"a letter from A to {ascii_uppercase[len(choices) - 1]}, or the text of a choice"
    if scorer == "numeric" and first_number(target) is None:
        return "a number"
    try:
        if scorer == "json":
            return "" if isinstance(json.loads(target), dict | list) else "a JSON object or array"
        if scorer == "schema":
            _check_schema(target)
        if scorer == "regex":
            re.compile(target)
        if scorer == "code":
            compile(target, "target", "exec")
    except (ValueError, SyntaxError, RecursionError, re.error) as error:
        kinds = {"json": "JSON", "schema": "a JSON schema", "regex": "a regular expression", "code": "Python asserts"}
        return f"{kinds[scorer]} ({error})"
    return ""


def _check_schema(text: str) -> None:
    from jsonschema.exceptions import SchemaError
    from jsonschema.validators import Draft202012Validator, validator_for

    schema = json.loads(text)
    if not isinstance(schema, dict):
        raise ValueError("it is no object")
    try:
        validator_for(schema, default=Draft202012Validator).check_schema(schema)
    except SchemaError as error:
        raise ValueError(error.message) from error


def _scorer(row: Mapping[str, Any]) -> Scorer:
    named: Scorer = (row.get("metadata") or {}).get("scorer", "choice" if "choices" in row else "normalised")
    return named


def _messages(row: Mapping[str, Any]) -> tuple[Message, ...]:
    value = row["input"]
    asked: list[Message] = [{"role": "user", "content": value}] if isinstance(value, str) else value
    if "choices" not in row:
        return tuple(asked)
    lines = [f"{letter}) {choice}" for letter, choice in zip(ascii_uppercase, row["choices"], strict=False)]
    text = "\n".join([asked[-1]["content"], "", *lines, "", "Answer with the letter only."])
    return (*asked[:-1], {"role": "user", "content": text})


def _targets(row: Mapping[str, Any]) -> tuple[str, ...]:
    value = row["target"]
    targets = tuple(value) if isinstance(value, list) else (value,)
    return tuple(_letter(target, row["choices"]) for target in targets) if "choices" in row else targets


def _letter(target: str, choices: Sequence[str]) -> str:
    """Return the letter that `target` is, else the letter of the choice that it spells out, else ""."""
    letters = ascii_uppercase[: len(choices)]
    if target in letters:
        return target
    return letters[choices.index(target)] if target in choices else ""


def _shown(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 80 else f"{text[:79]}…"
