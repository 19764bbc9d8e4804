import json
import re

import pytest

from cipher_nb.battery.families.workbench import CATEGORY, FAMILIES, changed, first_match
from cipher_nb.battery.samples import Sample


def samples(name: str) -> list[Sample]:
    family = next(family for family in FAMILIES if family.name == name)
    return [s for side in ("sealed", "practice") for s in family.samples(CATEGORY, 150, side=side, seed=5)]


@pytest.mark.parametrize(
    ("path", "expected"), [("docs/a.md", 0), ("src/plot.md", 1), ("src/a.md", 2), ("src/a.py", 3), ("docs/plot.md", 0)]
)
def test_the_first_fitting_rule_wins(path, expected):
    assert first_match(path, ["docs/*", "*plot.*", "*.md", "*"]) == expected


def test_views_are_those_of_the_first_fitting_rule():
    for sample in samples("view"):
        *rules, question = sample.user_text.splitlines()
        path = re.findall(r"\w+/\w+\.\w+", question)[0]
        opened = [
            view
            for pattern, view in (rule.split(" -> ") for rule in rules)
            if re.fullmatch(re.escape(pattern).replace(r"\*", ".*"), path)
        ]
        assert sample.target == opened[0]


def test_the_focus_goes_round_the_ends():
    for sample in samples("focus"):
        words = re.findall(r"[\w-]+", sample.user_text)
        panels = [word for word in dict.fromkeys(words) if word in sample.choices]
        start = next(word for word in words if words.count(word) == 2 and word in panels)
        steps = sum({"next": 1, "tab": 1, "back": -1, "shift-tab": -1}.get(word, 0) for word in words)
        assert sample.target == (panels * 9)[panels.index(start) + 16 + steps]


def test_a_tab_opens_at_the_end_and_moves_to_either_end():
    assert changed(["a", "b"], "open", "c") == ["a", "b", "c"]
    assert changed(["a", "b", "c"], "close", "b") == ["a", "c"]
    assert changed(["a", "b", "c"], "first", "c") == ["c", "a", "b"]
    assert changed(["a", "b", "c"], "last", "a") == ["b", "c", "a"]


def test_panels_stand_where_the_moves_leave_them():
    for sample in samples("place"):
        text = sample.user_text
        stands = dict(re.findall(r"(\w+)(?::| at) (left|right|top|bottom)[,.]", text))
        moves = re.findall(r"(?:Move|Then) (\w+) (?:to the|goes) (\w+)|(?:Swap|Now) (\w+) and (\w+)", text)
        for name, to, one, other in moves:
            stands |= {name: to} if name else {one: stands[other], other: stands[one]}
        assert sample.target == stands[re.findall(r"(\w+)\?$", text)[0]]


def test_a_panel_outside_what_was_asked_does_not_pass():
    from cipher_nb.battery.scorers import score

    for sample in samples("panel"):
        asked = json.loads(sample.reference)
        assert str(asked["width"])[0] in sample.user_text
        assert score(sample, json.dumps(asked)) == 1.0
        assert score(sample, json.dumps({**asked, "width": 95})) == 0.0
        assert score(sample, json.dumps({**asked, "visible": not asked["visible"]})) == 0.0
        assert score(sample, json.dumps({**asked, "extra": 1})) == 0.0
