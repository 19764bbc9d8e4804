"""An operator's own samples: read, refused with everything that is wrong, and asked."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from cipher_nb.battery.own import read_own
from cipher_nb.battery.scorers import score
from cipher_nb.errors import BatteryError


def write(folder: Path, *rows: object, name: str = "git.jsonl") -> Path:
    path = folder / name
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
    return path


def faults(folder: Path, *rows: object) -> list[str]:
    path = write(folder, *rows)
    with pytest.raises(BatteryError) as caught:
        read_own(folder)
    return str(caught.value).replace(f"{path}:", "").split("\n")


def test_a_line_with_input_and_target_is_a_sample(tmp_path):
    write(tmp_path, {"input": "Bump 1.4.9.", "target": "1.4.10"})
    (found,) = read_own(tmp_path)
    assert (found.category, found.family, found.scorer, found.max_tokens) == ("git", "git", "normalised", 64)
    assert found.messages == ({"role": "user", "content": "Bump 1.4.9."},)
    assert (score(found, "1.4.10."), score(found, "1.5.0")) == (1.0, 0.0)
    assert (found.must_pass, found.reference) == (False, "1.4.10")


def test_metadata_sets_category_scorer_length_and_must_pass_and_the_rest_is_the_operators(tmp_path):
    told = {"category": "numbers", "scorer": "numeric", "max_tokens": 8, "must_pass": True, "author": "me"}
    write(tmp_path, {"id": 7, "input": [{"role": "user", "content": "2 + 2"}], "target": "4", "metadata": told})
    (found,) = read_own(tmp_path)
    assert (found.category, found.family, found.max_tokens, found.must_pass) == ("numbers", "git", 8, True)
    assert found.id.startswith("7-")
    assert score(found, "It is 4.0") == 1.0


def test_an_id_changes_with_everything_a_score_depends_on(tmp_path):
    row = {"id": "a", "input": "q", "target": "t"}
    changes = ({}, {"input": "r"}, {"target": "u"}, {"metadata": {"max_tokens": 9}}, {"metadata": {"scorer": "exact"}})
    ids = set()
    for change in changes:
        write(tmp_path, row | change)
        ids |= {read_own(tmp_path)[0].id}
    assert len(ids) == 5


def test_choices_become_lettered_lines_and_the_target_a_letter(tmp_path):
    row = {"input": "Which undoes a commit?", "choices": ["git reset", "git restore", "git rm"]}
    write(tmp_path, row | {"target": "git restore"}, row | {"input": "And which?", "target": ["A", "C"]})
    first, second = read_own(tmp_path)
    assert first.user_text == (
        "Which undoes a commit?\n\nA) git reset\nB) git restore\nC) git rm\n\nAnswer with the letter only."
    )
    assert (first.scorer, first.choices, first.target) == ("choice", ("A", "B", "C"), "B")
    assert [score(second, letter) for letter in "ABC"] == [1.0, 0.0, 1.0]


def test_any_target_of_a_list_is_right(tmp_path):
    write(tmp_path, {"input": "q", "target": ["[1]", "[2]"], "metadata": {"scorer": "json"}})
    (found,) = read_own(tmp_path)
    assert [score(found, answer) for answer in ("[1]", " [ 2 ]", "[3]")] == [1.0, 1.0, 0.0]
    assert score(replace(found, scorer="code"), "x = 1", run_code=lambda _: None) is None


def test_every_fault_of_a_file_is_told_with_its_line_and_the_way_out(tmp_path):
    told = faults(
        tmp_path,
        {"input": "q", "target": "t"},
        {"input": "", "targets": "t", "files": {}},
        "",
        "{broken",
        "[1]",
        {"input": [{"role": "bot", "content": "q"}, {"role": "system", "content": "s"}], "target": []},
        {"input": "q", "target": "D", "choices": ["x", "y"]},
        {"input": "q", "target": "x", "choices": ["x", "x"]},
        {"input": "q", "target": "t", "metadata": {"scorer": "regexp", "max_tokens": 0, "must_pass": "yes"}},
    )
    assert told == [
        "2: targets is unknown; did you mean target?",
        "2: files is not supported here; leave it out",
        '2: input = "" must be the question as text, or a list of messages',
        told[3],
        "5: [1] is no JSON object; write one object a line",
        '6: input, message 1: role = "bot" must be one of system, user, assistant',
        "6: input ends with a message of the system; end it with one of the user",
        '7: target = "D" must be a letter from A to B, or the text of a choice',
        '8: choices = ["x", "x"] must be 2 to 26 different texts',
        '9: metadata.scorer = "regexp" is unknown; did you mean regex?',
        "… and 2 more",
    ]
    assert told[3].startswith("4: it is not valid JSON (")


@pytest.mark.parametrize(
    ("scorer", "target", "wanted"),
    [
        ("json", "{", "must be JSON ("),
        ("json", "3", "must be a JSON object or array"),
        ("schema", '{"type": "objekt"}', "must be a JSON schema ("),
        ("schema", "[]", "must be a JSON schema (it is no object)"),
        ("regex", "(", "must be a regular expression ("),
        ("numeric", "four", "must be a number"),
        ("code", "assert (", "must be Python asserts ("),
        ("choice", "t", 'metadata.scorer = "choice" needs choices'),
    ],
)
def test_a_target_that_its_scorer_cannot_use_is_refused(tmp_path, scorer, target, wanted):
    (told,) = faults(tmp_path, {"input": "q", "target": target, "metadata": {"scorer": scorer}})
    assert wanted in told


def test_an_id_and_a_question_stand_only_once(tmp_path):
    row = {"input": "q", "target": "t"}
    other = write(tmp_path, row | {"id": "a"}, name="a.jsonl")
    first, second = faults(tmp_path, row | {"id": "a"}, row, row)
    assert first == f"1: id a stands at {other}:1 already; remove one"
    assert second.startswith("3: sample git-")
    assert second.endswith("2 already; remove one")


def test_a_folder_without_files_has_no_samples(tmp_path):
    (tmp_path / "results").mkdir()
    write(tmp_path / "results", "{}", name="x.jsonl")
    assert read_own(tmp_path) == read_own(tmp_path / "missing") == ()
