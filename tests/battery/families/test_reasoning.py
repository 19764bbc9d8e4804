import json
import re
from itertools import permutations

import pytest

from cipher_nb.battery.families.reasoning import CATEGORY, FAMILIES

SIDES = ("sealed", "practice")


def samples(name: str, side: str, count: int = 300):
    family = next(family for family in FAMILIES if family.name == name)
    return family.samples(CATEGORY, count, side=side, seed=5)


def selected(text: str) -> list[str]:
    """The answer to a sealed question of "select", read off its words."""
    if text.startswith("Branches"):
        branches, merged = (part.split(": ")[1].split(", ") for part in text.split(". ")[:2])
        return [branch for branch in branches if branch not in merged]
    if text.startswith("From"):
        files, ending = re.fullmatch(r"From (.+) take the (\.\w+) files\.", text).groups()
        return [file for file in files.split(", ") if file.endswith(ending)]
    asked, found = text.split(": ")
    limit = re.search(r"\d+", asked)
    rows = [row.split(" ") for row in found.split(", ")]
    kept = [row for row in rows if "broken" not in asked or "broken" in row]
    return [row[0] for row in kept if limit is None or int(row[-1]) > int(limit.group())]


def test_what_is_listed_meets_the_condition():
    for sample in samples("select", "sealed"):
        assert json.loads(sample.target) == selected(sample.user_text)
        assert sample.target != "[]"


def test_an_order_is_the_only_one_its_rules_allow():
    for sample in samples("order", "sealed"):
        rules = re.findall(r"build (\w+) before (\w+)", sample.user_text)
        names = sorted({name for rule in rules for name in rule})
        allowed = [
            list(order)
            for order in permutations(names)
            if rules and all(order.index(first) < order.index(second) for first, second in rules)
        ]
        assert allowed in ([], [json.loads(sample.target)])


def test_an_order_by_number_rises_or_falls():
    for sample in samples("order", "sealed"):
        numbers = dict(re.findall(r"(\w+) (\d+)", sample.user_text))
        if numbers:
            ranked = [int(numbers[name]) for name in json.loads(sample.target)]
            assert ranked == sorted(ranked, reverse="falling" in sample.user_text)


def test_an_order_of_names_is_alphabetical_or_as_told():
    for sample in samples("order", "sealed"):
        listed = re.findall(r"\w+", sample.user_text.partition(": ")[2])
        if sample.user_text.startswith("Sort from A to Z"):
            assert json.loads(sample.target) == sorted(listed)
        if sample.user_text.startswith("List by start"):
            assert json.loads(sample.target) == [name for name in listed if name != "then"]


def test_a_count_is_how_many_there_are():
    for sample in samples("count", "sealed"):
        asked, _, found = sample.user_text.partition(": ")
        limit = re.search(r"\d+", asked)
        rows = [row.split(" ") for row in found.split(", ")]
        if limit:
            rows = [row for row in rows if int(row[1]) > int(limit.group())]
        elif "broken" in asked:
            rows = [row for row in rows if row[1] == "broken"]
        assert sample.target == ["none", "one", "two", "three", "four", "five"][len(rows)]


def test_what_is_missing_is_in_one_list_only():
    for sample in samples("missing", "sealed"):
        if sample.user_text.startswith(("Deployed", "Known")):
            first, second = (set(re.findall(r"\w+", part)[1:]) for part in re.split("[;.] ", sample.user_text)[:2])
            assert first ^ second == {sample.target}


@pytest.mark.parametrize("side", SIDES)
def test_a_deduction_has_one_answer(side):
    rules = {
        r"(\w+) is slower than (\w+)": (0, 1),
        r"(\w+) is faster than (\w+)": (1, 0),
        r"(\w+) starts before (\w+)": (0, 1),
        r"(\w+) starts after (\w+)": (1, 0),
    }
    for sample in samples("deduce", side):
        pairs = [(found[a], found[b]) for rule, (a, b) in rules.items() for found in re.findall(rule, sample.user_text)]
        ends = [
            order[0 if re.search("slowest|first", sample.user_text) else -1]
            for order in permutations(sample.choices)
            if pairs and all(order.index(ahead) < order.index(behind) for ahead, behind in pairs)
        ]
        assert ends in ([], [sample.target])


def test_two_steps_and_one_left_lead_to_the_target():
    for sample in samples("deduce", "sealed"):
        text = sample.user_text
        if asked := re.search(r"does (\w+) call\?", text):
            calls = dict(re.findall(r"(\w+) calls (\w+)", text))
            owners = dict(re.findall(r"(\w+) belongs to (\w+)", text))
            assert owners[calls[asked.group(1)]] == sample.target
        elif "leaks" in text:
            assert [name for name in sample.choices if text.count(name) == 1] == [sample.target]
