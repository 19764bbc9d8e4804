"""agent contracts: whether an object meets the contract it is told, where it breaks it, and making one that fits."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping
from typing import Any

from cipher_nb.battery.family import Family, Question, rounds
from cipher_nb.battery.samples import Side

CATEGORY = "agent contracts"

FIELDS = {
    "practice": {
        "string": ("tool", "path", "summary", "author", "reason"),
        "integer": ("id", "line", "count", "size", "attempt"),
        "boolean": ("ok", "done", "passed", "cached"),
        "list": ("files", "tags", "errors"),
    },
    "sealed": {
        "string": ("source", "branch", "message", "engine", "owner"),
        "integer": ("seq", "column", "total", "bytes", "retries"),
        "boolean": ("valid", "final", "approved", "fresh"),
        "list": ("paths", "labels", "checks"),
    },
}
TYPES = ("string", "integer", "boolean", "list")
WORDS = {
    "practice": ("alpha", "editor", "main", "lint", "cobalt", "amber"),
    "sealed": ("omega", "runner", "trunk", "audit", "indigo", "umber"),
}
NUMBERS = {"practice": range(2, 50), "sealed": range(50, 400)}
OPENING = {"practice": "fields {}", "sealed": "contract {}"}


def broken(rng: random.Random, side: Side) -> Iterator[Question]:
    for how in rounds(("missing", "type"), rng):
        contract = _contract(rng, side, rng.choice((2, 3, 4)))
        event = {name: _value(kind, rng, side) for name, kind in contract.items()}
        field = rng.choice(list(contract))
        if how == "missing":
            del event[field]
        else:
            event[field] = _wrong(contract[field], rng, side)
        yield Question(f"{_shown(contract, side)}\n{_shuffled(event, rng)}", field)


def count(rng: random.Random, side: Side) -> Iterator[Question]:
    for wanted in rounds(range(4), rng):
        contract = _contract(rng, side, 2)
        events = [_event(contract, good=index < wanted, rng=rng, side=side) for index in range(3)]
        if rng.random() < 0.4 and wanted < 3:
            events.pop()
        lines = [json.dumps(event) for event in rng.sample(events, len(events))]
        yield Question("\n".join([_shown(contract, side), *lines]), str(wanted))


def _event(contract: Mapping[str, str], *, good: bool, rng: random.Random, side: Side) -> dict[str, Any]:
    event = {name: _value(kind, rng, side) for name, kind in contract.items()}
    if not good:
        name = rng.choice(list(contract))
        if rng.random() < 0.4:
            del event[name]
        else:
            event[name] = _wrong(contract[name], rng, side)
    return event


EVENTS = {
    "practice": ("opened", "saved", "closed", "merged", "tested", "failed", "queued"),
    "sealed": ("started", "paused", "resumed", "shipped", "blocked", "learned", "expired"),
}


def kind(rng: random.Random, side: Side) -> Iterator[Question]:
    for position in rounds(range(3), rng):
        names = rng.sample(EVENTS[side], 3)
        base = _contract(rng, side, 3)
        variants = rng.sample(_variants(base), 3)
        event = {name: _value(type_name, rng, side) for name, type_name in variants[position].items()}
        lines = [f"{name}: {_listed(variant)}" for name, variant in zip(names, variants, strict=True)]
        yield Question("\n".join([*lines, _shuffled(event, rng)]), names[position], tuple(names))


def _variants(base: Mapping[str, str]) -> list[dict[str, str]]:
    """Return contracts of which no object meets two: each lacks another field, or has another type for it."""
    first, second, third = base
    retyped = {first: "integer" if base[first] == "string" else "string"}
    return [
        dict(base),
        {**base, **retyped},
        {name: base[name] for name in (first, second)},
        {name: base[name] for name in (second, third)},
    ]


SPOKEN = {"practice": "{} is {}", "sealed": "{} = {}"}


def fill(rng: random.Random, side: Side) -> Iterator[Question]:
    for kinds in rounds((("string", "integer"), ("integer", "boolean", "string"), ("string", "list", "integer")), rng):
        contract = {rng.choice(FIELDS[side][type_name]): type_name for type_name in rng.sample(kinds, len(kinds))}
        event = {name: _value(type_name, rng, side) for name, type_name in contract.items()}
        if rng.random() < 0.4:
            digits = next(name for name, type_name in contract.items() if type_name == "string")
            event[digits] = str(rng.choice(NUMBERS[side]))
        said = [SPOKEN[side].format(name, _said(event[name])) for name in rng.sample(list(event), len(event))]
        yield Question(f"{_shown(contract, side)}\n{'; '.join(said)}", json.dumps(event))


def _said(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return " and ".join(value) if isinstance(value, list) else str(value)


LEVELS = {"practice": ("low", "mid", "high"), "sealed": ("info", "warn", "fatal")}
Rule = tuple[str, dict[str, Any], Any]
"""How a field's rule is told, its JSON schema, and a value that meets it."""


def make(rng: random.Random, side: Side) -> Iterator[Question]:
    for size in rounds((2, 3), rng):
        label = rng.choice(EVENTS[side])
        contract = _contract(rng, side, size)
        rules = {name: _rule(type_name, rng, side) for name, type_name in contract.items()}
        schema = {
            "type": "object",
            "properties": {"event": {"const": label}, **{name: schema for name, (_, schema, _) in rules.items()}},
            "required": ["event", *rules],
            "additionalProperties": False,
        }
        told = ", ".join([f'event: "{label}"', *(f"{name}: {text}" for name, (text, _, _) in rules.items())])
        reference = {"event": label, **{name: value for name, (_, _, value) in rules.items()}}
        yield Question(told, json.dumps(schema), reference=json.dumps(reference))


def _rule(type_name: str, rng: random.Random, side: Side) -> Rule:
    if type_name == "boolean":
        return "boolean", {"type": "boolean"}, rng.random() < 0.5
    if type_name == "string":
        allowed = rng.sample(LEVELS[side], 2)
        return " or ".join(f'"{value}"' for value in allowed), {"enum": allowed}, rng.choice(allowed)
    if type_name == "list":
        size = rng.choice((2, 3))
        schema = {"type": "array", "items": {"type": "string"}, "minItems": size, "maxItems": size}
        return f"list of {size} strings", schema, rng.sample(LEVELS[side], size)
    low, high = sorted(rng.sample(NUMBERS[side], 2))
    value = rng.randrange(low, high + 1)
    if rng.random() < 0.5:
        return f"integer, at least {low}", {"type": "integer", "minimum": low}, value
    return f"integer from {low} to {high}", {"type": "integer", "minimum": low, "maximum": high}, value


def _contract(rng: random.Random, side: Side, size: int) -> dict[str, str]:
    """Return `size` fields with their types."""
    return {rng.choice(FIELDS[side][type_name]): type_name for type_name in rng.sample(TYPES, size)}


def _shown(contract: Mapping[str, str], side: Side) -> str:
    return OPENING[side].format(_listed(contract))


def _listed(contract: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {type_name}" for name, type_name in contract.items())


def _shuffled(event: Mapping[str, Any], rng: random.Random) -> str:
    return json.dumps({name: event[name] for name in rng.sample(list(event), len(event))})


def _value(type_name: str, rng: random.Random, side: Side) -> Any:
    if type_name == "boolean":
        return rng.random() < 0.5
    if type_name == "list":
        return rng.sample(WORDS[side], rng.choice((1, 2)))
    return rng.choice(NUMBERS[side]) if type_name == "integer" else rng.choice(WORDS[side])


def _wrong(type_name: str, rng: random.Random, side: Side) -> Any:
    """Return a value of another type, which often looks like one of this type."""
    right = _value(type_name, rng, side)
    if rng.random() < 0.5 and type_name != "string":
        return json.dumps(right) if type_name != "list" else right[0]
    return _value(rng.choice([other for other in TYPES if other != type_name]), rng, side)


BROKEN_EXAMPLES = (
    ('shape mode string, age integer\n{"mode": "x"}', "age"),
    ('shape on boolean, mode string\n{"mode": "x", "on": "true"}', "on"),
    ('shape age integer, who list\n{"age": ["x"], "who": ["y"]}', "age"),
)
COUNT_EXAMPLES = (
    ('shape mode string, age integer\n{"mode": "x", "age": 1}\n{"mode": 2, "age": 3}', "1"),
    ('shape on boolean, age integer\n{"on": true}\n{"on": "true", "age": 3}', "0"),
    ('shape on boolean, age integer\n{"on": true, "age": 3}\n{"on": false, "age": 1}', "2"),
)
KIND_EXAMPLES = (
    ('ping: age integer\npong: age integer, on boolean\n{"age": 1}', "ping"),
    ('ping: age integer\npong: age string\n{"age": "x"}', "pong"),
)
FILL_EXAMPLES = (
    ("shape mode string, age integer\nmode: 5; age: 5", '{"mode": "5", "age": 5}'),
    ("shape on boolean, who list\non: yes; who: x and y", '{"on": true, "who": ["x", "y"]}'),
)
MAKE_EXAMPLES = (
    ('event: "ping", age: integer, at least 3', '{"event": "ping", "age": 3}'),
    ('event: "pong", on: boolean, who: list of 2 strings', '{"event": "pong", "on": true, "who": ["x", "y"]}'),
)

FAMILIES = (
    Family(
        "broken",
        "One field of the contract is missing in the object or has a wrong type. Name the field.",
        "normalised",
        broken,
        examples=BROKEN_EXAMPLES,
        max_tokens=8,
    ),
    Family(
        "count",
        "How many of the objects hold every field of the contract with the right type?",
        "numeric",
        count,
        examples=COUNT_EXAMPLES,
        max_tokens=6,
    ),
    Family(
        "kind",
        "Which event is it? Fields and types must be exactly those of the event.",
        "choice",
        kind,
        examples=KIND_EXAMPLES,
    ),
    Family(
        "fill",
        "Write the values as one JSON object with the types of the contract.",
        "json",
        fill,
        examples=FILL_EXAMPLES,
        max_tokens=32,
    ),
    Family(
        "make",
        "Write one JSON object that meets the contract. All fields are needed, no others are allowed.",
        "schema",
        make,
        examples=MAKE_EXAMPLES,
        max_tokens=48,
    ),
)
