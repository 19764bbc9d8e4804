import re

import pytest

from cipher_nb.battery.families.agent_loop import CATEGORY, FAMILIES


def samples(name, side):
    return next(family for family in FAMILIES if family.name == name).samples(CATEGORY, 200, side=side, seed=4)


def next_move(log):
    if log[-1].startswith("read"):
        return "edit"
    if log[-1] in ("edit: saved", "edit: refused", "test: passed"):
        return {"edit: saved": "test", "edit: refused": "read", "test: passed": "finish"}[log[-1]]
    return "ask" if sum(line.endswith("failed") for line in log) == 3 else "edit"


def unsettled(lines):
    open_calls = {}
    for line in lines:
        number, call, outcome = re.fullmatch(r"(s\d) (\w+ \S+): (.+)", line).groups()
        if re.search(r"no such|not found|exit [1-9]|[1-9] failed", outcome):
            open_calls[call] = number
        else:
            open_calls.pop(call, None)
    return list(open_calls.values())


def buildable(text):
    *needs, built = [re.findall(r"[a-z]+", line) for line in text.lower().splitlines()]
    return [part for part, _, *wanted in needs if part not in built and set(wanted) - {"and"} <= set(built)]


@pytest.mark.parametrize("side", ["sealed", "practice"])
def test_the_next_move_follows_from_the_log(side):
    for sample in samples("step", side):
        assert sample.target == next_move(sample.user_text.splitlines()[1:])


@pytest.mark.parametrize("side", ["sealed", "practice"])
def test_exactly_one_step_failed_for_good(side):
    for sample in samples("failed", side):
        assert [sample.target] == unsettled(sample.user_text.splitlines())


@pytest.mark.parametrize("side", ["sealed", "practice"])
def test_exactly_one_part_can_be_built(side):
    for sample in samples("ready", side):
        assert [sample.target] == buildable(sample.user_text)


def test_only_the_last_attempt_stops():
    for sample in samples("retry", "sealed"):
        attempt, limit = re.match(r"Attempt (\d)/(\d) at", sample.user_text).groups()
        assert (sample.target == "stop") == (attempt == limit)


def test_what_is_left_is_the_budget_less_what_is_spent():
    for sample in samples("left", "sealed"):
        first, *others = map(int, re.findall(r"\d+", sample.user_text))
        if sample.user_text.startswith("Limit"):
            assert first - others[0] == int(sample.target)
        elif sample.user_text.startswith("Call"):
            assert first - sum(others) == int(sample.target)
        elif sample.user_text.startswith("Token"):
            assert first - others[0] * others[1] == int(sample.target)
        else:
            assert first - others[0] == others[1] == int(sample.target)
