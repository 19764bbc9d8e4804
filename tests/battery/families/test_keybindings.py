import json
import re

import pytest

from cipher_nb.battery.families.keybindings import CATEGORY, FAMILIES

SIDES = pytest.mark.parametrize("side", ["sealed", "practice"])


def samples(name, side):
    return next(family for family in FAMILIES if family.name == name).samples(CATEGORY, 200, side=side, seed=4)


@SIDES
def test_a_chord_is_spelt_with_its_modifiers_in_order(side):
    for sample in samples("spell", side):
        *held, key = re.findall(r"\w+", sample.user_text.lower())
        assert sample.target == "+".join([each for each in ("ctrl", "shift", "alt") if each in held] + [key])


@SIDES
def test_the_last_line_that_has_the_chord_and_no_unset_flag_runs(side):
    for sample in samples("runs", side):
        *lines, asked = sample.user_text.splitlines()
        told = asked.replace(",", " ").split()
        ready = [line.split() for line in lines]
        fitting = [line[1] for line in ready if line[0] in told and (len(line) == 2 or line[3] in told)]
        assert sample.target == fitting[-1]


@SIDES
def test_an_entry_says_its_flag_and_negates_it_for_unless(side):
    for sample in samples("entry", side):
        entry = json.loads(sample.target)
        word, _, flag = re.search(r"(?:(if|unless)( )(\w+))?$", sample.user_text).groups()
        assert entry.get("when") == (None if word is None else {"if": flag, "unless": f"!{flag}"}[word])
        assert entry["command"] in sample.user_text
        assert entry["key"] in sample.user_text.lower()


@SIDES
def test_a_chord_names_the_keys_of_the_other_system(side):
    for sample in samples("platform", side):
        text = re.sub(r"^(Mac|PC): | to (Mac|PC)$", "", sample.user_text)
        to_mac = {"ctrl": "cmd", "alt": "option"}
        names = to_mac if "Mac" in sample.user_text else {"cmd": "ctrl", "option": "alt"}
        assert sample.target == "".join(names.get(part, part) for part in re.split(r"(\W)", text))
