import json
import re

import pytest

from cipher_nb.battery.families.agent_tools import CATEGORY, FAMILIES

TYPES = {"string": str, "integer": int, "boolean": bool}


def samples(name, side):
    return next(family for family in FAMILIES if family.name == name).samples(CATEGORY, 200, side=side, seed=4)


def faults(text):
    signature, call = text.splitlines()
    told = {name: (mark, kind) for name, mark, kind in re.findall(r"(\w+)(\??): (\w+)", signature)}
    given = json.loads(call)
    found = ["unknown" for name in given if name not in told]
    found += ["missing" for name, (mark, _) in told.items() if not mark and name not in given]
    found += ["type" for name, value in given.items() if name in told and type(value) is not TYPES[told[name][1]]]
    return found


@pytest.mark.parametrize("side", ["sealed", "practice"])
def test_a_call_has_the_one_fault_that_is_asked_for_or_none(side):
    for sample in samples("fault", side):
        assert faults(sample.user_text) == ([] if sample.target == "valid" else [sample.target])


@pytest.mark.parametrize("side", ["sealed", "practice"])
def test_the_value_of_an_argument_stands_once_in_the_request(side):
    for sample in samples("argument", side):
        request = sample.user_text.splitlines()[1]
        assert len(re.findall(rf"(?<![\w./]){re.escape(sample.target)}(?![\w/]|\.\w)", request)) == 1


READINGS = {
    r"Bytes written:|Size of what was written:": lambda text, _: re.findall(r"wrote (\d+)", text),
    r"Passed:": lambda text, _: re.findall(r"(\d+) passed", text),
    r"Pending:": lambda text, _: re.findall(r"(\d+) pending", text),
    r"Tests run or pending:": lambda text, _: re.findall(r"(\d+) \w", text),
    r"Lines taken out of (.+):": lambda text, file: re.findall(rf"{file} \+\d+ -(\d+)", text),
    r"Lines put into (.+):": lambda text, file: re.findall(rf"{file} \+(\d+)", text),
    r"Total added:": lambda text, _: re.findall(r"\+(\d+)", text),
    r"\w+ is printed on line": lambda text, _: re.findall(r"\((\d+)\): print", text),
    r"\w+ grows on line": lambda text, _: re.findall(r"\((\d+)\): \w+ \+=", text),
    r"Bytes of (.+):": lambda text, file: re.findall(rf"{file} (\d+) B", text),
    r"(.+) together:": lambda text, files: re.findall(rf"(?:{files.replace(' and ', '|')}) (\d+) B", text),
    r"Exit code of (.+):": lambda text, file: re.findall(rf"{file} ended: (\d+)", text),
}


def test_the_number_asked_for_is_what_the_output_says():
    for sample in samples("output", "sealed"):
        *lines, asked = sample.user_text.splitlines()
        found, read = next(
            (re.fullmatch(form, asked), read) for form, read in READINGS.items() if re.match(form, asked)
        )
        numbers = read("\n".join(lines), found[1] if found.groups() else "")
        assert sum(map(int, numbers)) == int(sample.target)


def test_renaming_keeps_the_extension():
    calls = [json.loads(sample.target) for sample in samples("call", "sealed")]
    renamed = [call for call in calls if call["tool"] == "rename"]
    assert len(renamed) > 40
    assert all(call["path"].split(".")[-1] == call["to"].split(".")[-1] for call in renamed)
