import json
import re

import pytest

from cipher_nb.battery.families.command_registry import CATEGORY, FAMILIES

SIDES = pytest.mark.parametrize("side", ["sealed", "practice"])


def samples(name, side):
    return next(family for family in FAMILIES if family.name == name).samples(CATEGORY, 200, side=side, seed=4)


def holds(rule, on):
    python = rule.replace("&&", " and ").replace("||", " or ").replace("!", " not ")
    return eval(re.sub(r"\b(?!and\b|or\b|not\b)[a-z]+\b", lambda flag: str(flag[0] in on), python))


@SIDES
def test_following_the_aliases_ends_at_the_command(side):
    hops = set()
    for sample in samples("alias", side):
        *lines, asked = sample.user_text.splitlines()
        table = dict(line.split(" = ") for line in lines)
        name, count = re.search(r"\b[a-z]{2}\b", asked)[0], 0
        while name in table:
            name, count = table[name], count + 1
        hops.add(count)
        assert name == sample.target
    assert hops == {1, 2, 3}


@SIDES
def test_an_argument_that_is_not_mentioned_keeps_its_default(side):
    for sample in samples("args", side):
        signature, wish = re.fullmatch(r"\w+\((.*)\): (.*)", sample.user_text).groups()
        (number_name, number), (word_name, word) = (pair.split("=") for pair in signature.split(", "))
        meant = json.loads(sample.target)
        assert list(meant) == [number_name, word_name]
        said = re.findall(r"\d+", re.sub(r"\bA\d\b", "", wish))
        assert meant[number_name] == int(said[0] if said else number)
        assert meant[word_name] == word or re.search(rf"\b{meant[word_name]}\b", wish)
        assert said or re.search(rf"\b{meant[word_name]}\b", wish)


@SIDES
def test_exactly_one_command_is_enabled(side):
    for sample in samples("enabled", side):
        *lines, told = sample.user_text.splitlines()
        on = set(re.findall(r"\w+", told))
        rules = dict(line.split(": ") for line in lines)
        assert [command for command, rule in rules.items() if holds(rule, on)] == [sample.target]
