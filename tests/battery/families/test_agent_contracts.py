import json
import re

import pytest

from cipher_nb.battery.families.agent_contracts import CATEGORY, FAMILIES
from cipher_nb.battery.scorers import score

TYPES = {"string": str, "integer": int, "boolean": bool, "list": list}
SIDES = pytest.mark.parametrize("side", ["sealed", "practice"])


def samples(name, side):
    return next(family for family in FAMILIES if family.name == name).samples(CATEGORY, 200, side=side, seed=4)


def contract(line):
    return {name: TYPES[kind] for name, kind in re.findall(r"(\w+) (string|integer|boolean|list)\b", line)}


def offending(told, event):
    return [name for name, kind in told.items() if type(event.get(name)) is not kind]


@SIDES
def test_exactly_the_field_asked_for_breaks_the_contract(side):
    for sample in samples("broken", side):
        told, event = sample.user_text.splitlines()
        assert offending(contract(told), json.loads(event)) == [sample.target]


@SIDES
def test_as_many_objects_meet_the_contract_as_the_answer_says(side):
    for sample in samples("count", side):
        told, *events = sample.user_text.splitlines()
        good = [event for event in events if not offending(contract(told), json.loads(event))]
        assert len(good) == int(sample.target)


@SIDES
def test_the_object_is_exactly_one_of_the_three_events(side):
    for sample in samples("kind", side):
        *lines, text = sample.user_text.splitlines()
        event = json.loads(text)
        told = {line.split(":")[0]: contract(line) for line in lines}
        fitting = [name for name, fields in told.items() if fields == {key: type(event[key]) for key in event}]
        assert fitting == [sample.target]


@SIDES
def test_a_filled_object_meets_its_contract(side):
    for sample in samples("fill", side):
        told = contract(sample.user_text.splitlines()[0])
        assert {name: type(value) for name, value in json.loads(sample.target).items()} == told


def test_an_object_with_a_field_too_many_too_few_or_another_event_does_not_score():
    for sample in samples("make", "sealed"):
        right = json.loads(sample.reference)
        *_, last = right
        assert score(sample, json.dumps(right)) == 1.0
        assert score(sample, json.dumps({**right, "more": 1})) == 0.0
        assert score(sample, json.dumps({**right, "event": "other"})) == 0.0
        assert score(sample, json.dumps({name: value for name, value in right.items() if name != last})) == 0.0
        assert score(sample, json.dumps({**right, last: None})) == 0.0
