import json
import re

import pytest

from cipher_nb.battery.families.agent_policy import CATEGORY, FAMILIES, is_open

VERDICTS = ("allow", "ask", "deny")
SIDES = pytest.mark.parametrize("side", ["sealed", "practice"])


def samples(name, side):
    return next(family for family in FAMILIES if family.name == name).samples(CATEGORY, 200, side=side, seed=4)


@SIDES
def test_the_longest_folder_decides_and_none_means_ask(side):
    for sample in samples("path", side):
        *lines, request = sample.user_text.splitlines()
        rules = [re.findall(r"[\w/]+", line) for line in lines]
        told = {next(w for w in rule if "/" in w): next(w for w in rule if w in VERDICTS) for rule in rules}
        holding = [folder for folder in told if request.split()[-1].startswith(folder)]
        assert sample.target == (told[max(holding, key=len)] if holding else "ask")


@SIDES
def test_the_first_rule_that_fits_is_the_one_asked_for(side):
    for sample in samples("rule", side):
        *rules, command = sample.user_text.splitlines()
        patterns = [re.escape(rule[3:]).replace(r"\*", ".*") for rule in rules]
        fits = [bool(re.fullmatch(pattern, command[2:])) for pattern in patterns]
        assert sample.target == f"R{fits.index(True) + 1}"


@SIDES
def test_one_strictest_rule_decides(side):
    for sample in samples("decision", side):
        *rules, request = sample.user_text.splitlines()
        tool, place = re.match(r"(\w+) (\w+)/", request).groups()
        fitting = {f"{tool} {place}", f"{tool} anything", f"anything in {place}"}
        found = []
        for rule in rules:
            number, *rest = re.findall(r"\w+", rule)
            verdict = next(word for word in rest if word in VERDICTS)
            if " ".join(word for word in rest if word != verdict) in fitting:
                found.append({"decision": verdict, "rule": int(number)})
        strictest = max(VERDICTS.index(each["decision"]) for each in found)
        assert [each for each in found if each["decision"] == VERDICTS[strictest]] == [json.loads(sample.target)]


@SIDES
def test_exactly_one_secret_shows(side):
    for sample in samples("secret", side):
        shown = [line.split("=")[0] for line in sample.user_text.splitlines() if not line.endswith("***")]
        assert [name for name in shown if name.endswith(("_KEY", "_TOKEN", "_PASS"))] == [sample.target]


@SIDES
def test_as_many_hosts_are_blocked_as_the_answer_says(side):
    for sample in samples("blocked", side):
        listed, wanted = (re.findall(r"[\w*.]+\.\w+", line) for line in sample.user_text.splitlines())
        assert sum(not is_open(host, listed) for host in wanted) == int(sample.target)


@pytest.mark.parametrize(
    ("host", "answer"), [("a.b", True), ("x.a.b", False), ("c.d", False), ("x.c.d", True), ("xc.d", False)]
)
def test_a_star_opens_what_lies_below_a_domain_only(host, answer):
    assert is_open(host, ["a.b", "*.c.d"]) is answer
