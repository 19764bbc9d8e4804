import json
import re
from decimal import Decimal

import pytest

from cipher_nb.battery.families.training_gate import CATEGORY, FAMILIES, ruling
from cipher_nb.battery.samples import Sample


def samples(name: str) -> list[Sample]:
    family = next(family for family in FAMILIES if family.name == name)
    return [s for side in ("sealed", "practice") for s in family.samples(CATEGORY, 150, side=side, seed=5)]


def table(text: str) -> dict[str, Decimal]:
    """Every category with its delta, whether the text tells it or both scores."""
    told = re.findall(r"(\w+): production (\d\.\d\d), candidate (\d\.\d\d)", text)
    if told:
        return {name: Decimal(new) - Decimal(old) for name, old, new in told}
    return {name: Decimal(delta) for name, delta in re.findall(r"(\w+) ([+-]\d\.\d\d)", text) if name != "composite"}


@pytest.mark.parametrize(
    ("deltas", "expected"),
    [
        ((-5, 5, 0), "pass"),
        ((-6, 9, 9), "category"),
        ((-6, -6, 0), "category"),
        ((-5, 1, 3), "composite"),
        ((0, 0, 0), "pass"),
    ],
)
def test_a_category_may_lose_five_hundredths_and_the_composite_nothing(deltas, expected):
    assert ruling(deltas) == expected


def test_verdicts_follow_from_the_numbers_in_the_question():
    for sample in samples("verdict"):
        deltas = table(sample.user_text).values()
        expected = "category" if min(deltas) < Decimal("-0.05") else "composite" if sum(deltas) < 0 else "pass"
        assert (len(deltas), sample.target) == (3, expected)


def test_the_failing_category_is_the_only_one_that_lost_more_than_five_hundredths():
    for sample in samples("fails"):
        failing = [name for name, delta in table(sample.user_text).items() if delta < Decimal("-0.05")]
        assert sample.target == (failing[0] if failing else "none")
        assert len(failing) < 2


def test_numbers_and_composites_are_what_the_table_says():
    for sample in samples("number"):
        name, wanted = re.findall(r"(\w+) (\w+) =$", sample.user_text)[0]
        old, new = re.findall(rf"{name}: production (\S+), candidate (\S+)", sample.user_text)[0]
        expected = {"production": old, "candidate": new, "delta": Decimal(new) - Decimal(old)}[wanted]
        assert Decimal(sample.target) == Decimal(expected)
    for sample in samples("composite"):
        deltas = table(sample.user_text).values()
        assert Decimal(sample.target) * len(deltas) == sum(deltas)


def test_reports_list_what_failed_and_pass_only_without_it_and_with_a_composite_of_zero_or_more():
    for sample in samples("report"):
        deltas = table(sample.user_text)
        failed = [name for name, delta in deltas.items() if delta < Decimal("-0.05")]
        composite = Decimal(sample.user_text.split("composite ")[1])
        assert composite * 3 == sum(deltas.values())
        assert json.loads(sample.target) == {"passed": not failed and composite >= 0, "failed": failed}
