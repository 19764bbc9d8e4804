import json
import re

from cipher_nb.battery.families.memory import CATEGORY, FAMILIES
from cipher_nb.battery.samples import Sample


def samples(name: str) -> list[Sample]:
    family = next(family for family in FAMILIES if family.name == name)
    return [s for side in ("sealed", "practice") for s in family.samples(CATEGORY, 150, side=side, seed=5)]


def notes(text: str) -> list[tuple[str, str, str]]:
    return re.findall(r"^(?:\d\. )?(2026-\d\d-\d\d) ([\w -]+): (\w+)$", text, re.MULTILINE)


def test_what_is_recalled_is_the_newest_note_on_the_subject_wherever_it_stands():
    places = set()
    for sample in samples("recall"):
        found = notes(sample.user_text)
        asked = [note for note in found if note[1] in sample.user_text.splitlines()[-1]]
        assert (len(found), sample.target) == (3, max(asked)[2])
        places.add(found.index(max(asked)))
    assert places == {0, 1, 2}


def test_the_outdated_note_is_the_older_of_the_only_two_on_one_subject():
    for sample in samples("outdated"):
        found = notes(sample.user_text)
        subjects = [subject for _, subject, _ in found]
        doubled = [note for note in found if subjects.count(note[1]) == 2]
        assert (len(found), len(doubled)) == (4, 2)
        assert sample.target == str(found.index(min(doubled)) + 1)


def test_keys_name_an_owner_and_a_subject_that_the_fact_mentions():
    for sample in samples("key"):
        owner, subject = sample.target.split("/")
        said = sample.user_text.lower().replace(" ", "-")
        assert owner in said
        assert subject in said


def test_the_state_is_what_is_left_when_the_told_changes_are_followed():
    for sample in samples("state"):
        held = {}
        for slot, value, forgotten in re.findall(r"(?:set|note) (\w+) (?:to|=) (\w+)|forget (\w+)", sample.user_text):
            held |= {slot: value} if slot else {}
            held.pop(forgotten, None)
        assert json.loads(sample.target) == held
