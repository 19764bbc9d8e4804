import json
import re

import pytest

from cipher_nb.battery.families.lsp_dap_routes import CATEGORY, FAMILIES

SIDES = pytest.mark.parametrize("side", ["sealed", "practice"])


def samples(name, side):
    return next(family for family in FAMILIES if family.name == name).samples(CATEGORY, 200, side=side, seed=4)


def numbers(text):
    return [int(number) for number in re.findall(r"\d+", text)]


@SIDES
def test_lsp_positions_count_from_0_and_the_others_from_1(side):
    for sample in samples("position", side):
        line, other = numbers(sample.user_text)
        if "LSP" in sample.user_text:
            assert json.loads(sample.target) == {"line": line - 1, "character": other - 1}
        elif "DAP" in sample.user_text:
            assert json.loads(sample.target) == {"line": line, "column": other}
        else:
            assert json.loads(sample.target) == {"line": line + 1, "column": other + 1}


@SIDES
def test_params_hold_what_was_said_and_only_a_rename_counts_from_0(side):
    for sample in samples("params", side):
        said = numbers(re.sub(r"\w+_\w+", "", sample.user_text))
        offset = 1 if "newName" in sample.target else 0
        assert sorted(numbers(sample.target)) == sorted(number - offset for number in said)


@SIDES
def test_the_kind_of_a_message_follows_from_its_fields(side):
    for sample in samples("message", side):
        fields = json.loads(sample.user_text)
        if "seq" in fields:
            kind = "event" if "event" in fields else "response" if "request_seq" in fields else "request"
        else:
            kind = "response" if "method" not in fields else "request" if "id" in fields else "notification"
        assert sample.target == kind


@SIDES
def test_a_response_answers_the_waiting_request_it_names(side):
    for sample in samples("match", side):
        *lines, text = sample.user_text.splitlines()
        response = json.loads(text)
        waiting = dict(line.split() for line in lines)
        assert sample.target == waiting.get(str(response.get("request_seq", response.get("id"))), "none")


def test_a_cancelled_id_makes_a_notification_no_request():
    cancels = [sample for sample in samples("message", "sealed") if "$/cancelRequest" in sample.user_text]
    assert cancels
    assert {sample.target for sample in cancels} == {"notification"}
