import json
import re

import pytest
from packaging.specifiers import SpecifierSet

from cipher_nb.battery.families.plugin_manager import CATEGORY, FAMILIES, Range, where
from cipher_nb.battery.samples import Sample

RANGE = r"(?:\^|~|>=)\d+\.\d+\.\d+"


def samples(name: str) -> list[Sample]:
    family = next(family for family in FAMILIES if family.name == name)
    return [s for side in ("sealed", "practice") for s in family.samples(CATEGORY, 150, side=side, seed=5)]


def specifiers(told: str) -> SpecifierSet:
    low = told.lstrip("^~>=")
    major, minor, _ = map(int, low.split("."))
    end = {"^": f",<{major + 1}" if major else f",<0.{minor + 1}", "~": f",<{major}.{minor + 1}", ">": ""}[told[0]]
    return SpecifierSet(f">={low}{end}")


@pytest.mark.parametrize(
    ("version", "kind", "low", "expected"),
    [
        ((1, 9, 9), "^", (1, 2, 3), "inside"),
        ((2, 0, 0), "^", (1, 2, 3), "above"),
        ((1, 2, 2), "^", (1, 2, 3), "below"),
        ((0, 3, 0), "^", (0, 2, 3), "above"),
        ((1, 3, 0), "~", (1, 2, 3), "above"),
        ((1, 10, 0), "^", (1, 9, 0), "inside"),
        ((9, 0, 0), ">=", (1, 2, 3), "inside"),
    ],
)
def test_ranges_are_read_as_npm_reads_them(version, kind, low, expected):
    assert where(version, Range(kind, low)) == expected


def test_versions_are_inside_exactly_where_packaging_says_so():
    for sample in samples("range"):
        (wanted,) = re.findall(RANGE, sample.user_text)
        (version,) = re.findall(r"\d+\.\d+\.\d+", sample.user_text.replace(wanted, ""))
        assert (sample.target == "inside") == (version in specifiers(wanted))


def test_the_picked_version_is_the_newest_that_packaging_would_take():
    for sample in samples("pick"):
        (wanted,) = re.findall(RANGE, sample.user_text)
        offers = re.findall(r"\d+\.\d+\.\d+", sample.user_text.replace(wanted, ""))
        fitting = sorted(specifiers(wanted).filter(offers), key=lambda text: [int(part) for part in text.split(".")])
        assert sample.target == (fitting[-1] if fitting else "none")
        assert len(set(offers)) == len(offers)


def test_unmet_needs_are_those_absent_or_outside_their_range():
    for sample in samples("unmet"):
        present, needed = re.split(r"Required|depends on", sample.user_text)
        have = dict(re.findall(r"(\w+) (\d+\.\d+\.\d+)", present))
        needs = re.findall(rf"(\w+) ({RANGE})", needed)
        unmet = [name for name, wanted in needs if have.get(name, "0.0.0") not in specifiers(wanted)]
        assert (len(needs), json.loads(sample.target)) == (3, unmet)


def happening(told: str) -> str:
    languages = {"py": "python", "rb": "ruby", "rs": "rust"}
    if file := re.findall(r"^A folder with (\S+)", told):
        return f"hasFile:{file[0]}"
    if command := re.findall(r"^(\S+) (?:is run|was invoked)", told):
        return f"onCommand:{command[0]}"
    if ending := re.findall(r"^\w+\.(\w+) (?:opens|was opened)", told):
        return f"onLanguage:{languages.get(ending[0], ending[0])}"
    return "onStart"


def test_only_an_enabled_plugin_whose_event_happens_wakes():
    for sample in samples("wake"):
        *lines, told = sample.user_text.splitlines()
        enabled = [found for line in lines for found in re.findall(r"^(\S+) -> (\w+)$", line)]
        woken = [name for event, name in enabled if event == happening(told)]
        assert [sample.target] == (woken or ["none"])
