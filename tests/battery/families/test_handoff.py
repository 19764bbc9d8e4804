import json
import re

import pytest

from cipher_nb.battery.families.handoff import CATEGORY, FAMILIES, SAID
from cipher_nb.battery.scorers import score

SIDES = pytest.mark.parametrize("side", ["sealed", "practice"])


def samples(name, side):
    return next(family for family in FAMILIES if family.name == name).samples(CATEGORY, 200, side=side, seed=4)


def test_an_article_before_the_words_of_the_note_does_no_harm():
    sample = next(sample for sample in samples("extract", "sealed") if sample.reference == "stale lock")
    assert [score(sample, answer) for answer in ("stale lock", "A stale lock.", "lock", "no stale lock")] == [
        1,
        1,
        0,
        0,
    ]


@SIDES
def test_every_word_of_a_record_is_in_the_note(side):
    for sample in samples("record", side):
        assert all(value in sample.user_text for value in json.loads(sample.target).values())


def test_the_file_goes_to_who_holds_its_extension_or_to_the_deputy():
    for sample in samples("whom", "sealed"):
        table = dict(re.findall(r"(\.\w+|rest): (\w+)", sample.user_text))
        deputies = dict(re.findall(r"absent: (\w+), deputy: (\w+)", sample.user_text))
        holder = table.get(sample.user_text[sample.user_text.rindex(".") :], table["rest"])
        assert sample.target == deputies.get(holder, holder)


@SIDES
def test_the_last_word_on_an_item_is_its_state(side):
    for sample in samples("state", side):
        *log, asked = sample.user_text.splitlines()
        item = asked.rstrip("?")
        last = next(line for line in reversed(log) if item in line).split(": ")[1]
        states = [state for state, said in SAID[side].items() if last in [wording.format(item) for wording in said]]
        assert states == [sample.target]


def test_the_load_is_what_was_held_received_passed_on_and_solved():
    for sample in samples("load", "sealed"):
        held = {name: int(number) for name, number in re.findall(r"(\w+) holds (\d+)", sample.user_text)}
        for giver, number, taker in re.findall(r"(\w+) passes (\d+) on to (\w+)", sample.user_text):
            held[giver] -= int(number)
            held[taker] += int(number)
        for name, number in re.findall(r"(\w+) solves (\d+)", sample.user_text):
            held[name] -= int(number)
        assert held[re.search(r"Left with (\w+):", sample.user_text)[1]] == int(sample.target)
        assert min(held.values()) >= 0
