import json
import re

import pytest

from cipher_nb.battery.families.settings import CATEGORY, FAMILIES

SIDES = pytest.mark.parametrize("side", ["sealed", "practice"])


def samples(name, side):
    return next(family for family in FAMILIES if family.name == name).samples(CATEGORY, 200, side=side, seed=4)


@SIDES
def test_the_workspace_beats_the_user_and_the_user_the_default(side):
    for sample in samples("precedence", side):
        *lines, asked = sample.user_text.splitlines()
        layers = {}
        for layer, key, _, value in map(str.split, lines):
            if key == asked.split()[0]:
                assert layer not in layers
                layers[layer] = value
        assert sample.target == next(layers[name] for name in ("workspace", "user", "default") if name in layers)


@SIDES
def test_a_patch_replaces_what_is_there_and_adds_what_is_not(side):
    for sample in samples("patch", side):
        file, wish = sample.user_text.splitlines()
        ((section, values),) = json.loads(file).items()
        change = json.loads(sample.target)
        key = re.search(r"\w+\.(\w+)", wish)[1]
        said = re.search(r"\d+", wish)
        expected = {"op": "remove" if not said else "replace" if key in values else "add", "path": f"/{section}/{key}"}
        assert change == (expected | {"value": int(said[0])} if said else expected)
        assert change["op"] != "remove" or key in values


@SIDES
def test_both_bounds_are_allowed_and_only_whole_numbers(side):
    for sample in samples("check", side):
        low, high = map(int, re.findall(r"\d+", sample.user_text.splitlines()[0]))
        value = sample.user_text.split(" = ")[1]
        if not re.fullmatch(r"-?\d+", value):
            assert sample.target == "type"
        else:
            assert sample.target == ("low" if int(value) < low else "high" if int(value) > high else "fine")


@SIDES
def test_the_type_of_a_setting_is_that_of_its_value(side):
    for sample in samples("kind", side):
        value = json.loads(sample.user_text.split(" = ")[1])
        assert sample.target == {bool: "boolean", int: "number", float: "number", str: "string"}[type(value)]
