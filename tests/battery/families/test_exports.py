import csv
import io
import json
import re

from cipher_nb.battery.families.exports import CATEGORY, FAMILIES, filled
from cipher_nb.battery.samples import Sample


def samples(name: str) -> list[Sample]:
    family = next(family for family in FAMILIES if family.name == name)
    return [s for side in ("sealed", "practice") for s in family.samples(CATEGORY, 150, side=side, seed=5)]


def test_a_template_is_filled_as_its_rules_say():
    values = {"title": "Night Log", "run": "7", "kind": "md"}
    assert filled("{title:slug}-{run:3}.{kind}", values) == "night-log-007.md"
    assert filled("{run}_{title:upper}.{kind}", values) == "7_NIGHT LOG.md"
    assert filled("{run:5}.{title:lower}.{kind}", values) == "00007.night log.md"
    assert filled("{title}.{kind}", values) == "Night Log.md"


def test_no_field_of_a_template_is_left_unfilled():
    assert [sample for sample in samples("name") if "{" in sample.target] == []


def test_rows_are_what_the_csv_module_writes():
    for sample in samples("row"):
        out = io.StringIO()
        csv.writer(out, lineterminator="").writerow(json.loads(sample.user_text).values())
        assert sample.target == out.getvalue()


def test_records_are_what_the_csv_module_reads():
    typed = {"true": True, "false": False, "": None}
    for sample in samples("record"):
        (record,) = csv.DictReader(io.StringIO(sample.user_text))
        expected = {key: int(text) if text.isdigit() else typed.get(text, text) for key, text in record.items()}
        assert json.loads(sample.target) == expected


def test_manifest_answers_can_be_counted_in_the_manifest():
    for sample in samples("manifest"):
        *_, question = sample.user_text.splitlines()
        files = re.findall(r"^(\w+\.(\w+))\W+(\d+) \w+\W+(\w+)$", sample.user_text, re.MULTILINE)
        words = question.strip("?.").split()
        one = [int(count) for name, _, count, _ in files if name in words]
        of_kind = [int(count) for _, kind, count, state in files if kind in words and state in words]
        of_state = [int(count) for _, _, count, state in files if state in words]
        expected = one[0] if one else len(of_kind) if "files" in words else sum(of_state)
        assert int(sample.target) == expected
