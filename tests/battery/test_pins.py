"""Must-pass samples: what a pinned task asks again, and the file they are kept in."""

import json

import pytest

from cipher_nb.battery.own import read_own
from cipher_nb.battery.pins import FILE, pin, pin_row, unpin
from cipher_nb.battery.scorers import score
from cipher_nb.errors import ConfigError

ASKED = ({"role": "system", "content": "s"}, {"role": "user", "content": "Rename x to y."})
EDITS = [{"op": "replace", "path": "a.py", "search": "x", "replace": "y"}]
PROPOSAL = json.dumps({"intent": "rename", "checks": ["pytest"], "edits": EDITS})


def test_a_proposal_is_held_against_its_edits_alone(tmp_path):
    pin(tmp_path, pin_row("t1", messages=ASKED, answer=f"```json\n{PROPOSAL}\n```"))
    (found,) = read_own(tmp_path)
    assert (found.messages, found.must_pass, found.category) == (ASKED, True, "must-pass")
    assert score(found, json.dumps({"edits": EDITS, "intent": "other words"})) == 1.0
    assert score(found, json.dumps({"edits": [EDITS[0] | {"replace": "z"}]})) == 0.0
    assert score(found, json.dumps({"intent": "rename"})) == 0.0


def test_an_answer_of_one_line_is_held_against_it_as_a_whole(tmp_path):
    pin(tmp_path, pin_row("t1", messages=ASKED, answer="Use `sed`.\n"))
    (found,) = read_own(tmp_path)
    assert [score(found, answer) for answer in ("use `sed`", "Use awk.")] == [1.0, 0.0]


def test_a_longer_answer_needs_to_be_told_what_counts_as_right(tmp_path):
    with pytest.raises(ConfigError, match=r"task t1 was answered in 2 lines, .*--scorer exact"):
        pin_row("t1", messages=ASKED, answer="a\nb")
    pin(tmp_path, pin_row("t1", messages=ASKED, answer="a\nb", scorer="exact"))
    pin(tmp_path, pin_row("t2", messages=ASKED, answer="a\nb", scorer="regex", target="a|b"))
    exact, regex = read_own(tmp_path)
    assert (score(exact, "a\nb\n"), score(exact, "a")) == (1.0, 0.0)
    assert (score(regex, "b"), score(regex, "c")) == (1.0, 0.0)


def test_a_target_that_does_not_go_with_the_scorer_is_refused():
    with pytest.raises(ConfigError, match=r'task t1 cannot be pinned: target = "four" must be a number'):
        pin_row("t1", messages=ASKED, answer="four", scorer="numeric")


def test_a_long_answer_has_room_to_be_given_again():
    assert pin_row("t1", messages=ASKED, answer="w" * 1000)["metadata"]["max_tokens"] == 500
    assert pin_row("t1", messages=ASKED, answer="w")["metadata"]["max_tokens"] == 64


def test_pinning_again_changes_the_row_or_nothing(tmp_path):
    mine = b'{"id": "mine", "input": "q", "target": "t"}\n'
    (tmp_path / FILE).write_bytes(mine)
    first = pin_row("t1", messages=ASKED, answer="yes")
    assert (pin(tmp_path, first), pin(tmp_path, first)) == (True, False)
    assert pin(tmp_path, pin_row("t1", messages=ASKED, answer="no"))
    assert [sample.target for sample in read_own(tmp_path)] == ["t", "no"]
    assert (unpin(tmp_path, "t1"), unpin(tmp_path, "t1")) == (True, False)
    assert (tmp_path / FILE).read_bytes() == mine
    assert unpin(tmp_path / "elsewhere", "t1") is False
