import re
from datetime import datetime, timedelta
from fractions import Fraction

import pytest

from cipher_nb.battery.families.mathematics import CATEGORY, FAMILIES

SIDES = ("sealed", "practice")


def samples(name: str, side: str, count: int = 300):
    family = next(family for family in FAMILIES if family.name == name)
    return family.samples(CATEGORY, count, side=side, seed=5)


def quantity(text: str) -> Fraction:
    """Seconds, kilobytes or a share, from "2 min 5 s", "1.5 MB" or "3 of 4"."""
    if " of " in text:
        part, whole = text.split(" of ")
        return Fraction(int(part), int(whole))
    units = {"s": 1, "min": 60, "KB": 1, "MB": 1000}
    return sum((Fraction(n) * units[unit] for n, unit in re.findall(r"([\d.]+) (\w+)", text)), Fraction())


@pytest.mark.parametrize("side", SIDES)
def test_the_named_one_has_the_most_or_the_least(side):
    extreme = {
        **dict.fromkeys(("longest?", "slowest.", "biggest?", "largest.", "highest share?", "greatest ratio."), max),
        **dict.fromkeys(("least time?", "quickest.", "smallest?", "tiniest.", "lowest share?", "least ratio."), min),
    }
    for sample in samples("compare", side):
        listed, _, asked = sample.user_text.partition(". ")
        found = {name: quantity(text) for name, text in (entry.split(" ", 1) for entry in listed.split(", "))}
        pick = next(pick for words, pick in extreme.items() if asked.endswith(words))
        assert pick(found, key=found.__getitem__) == sample.target
        assert len(set(found.values())) == 3


def test_the_clock_agrees_with_datetime():
    for sample in samples("clock", "sealed"):
        text = sample.user_text
        start = datetime.strptime(
            re.search(r"\d+:\d\d( [AP]M)?", text).group(), "%I:%M %p" if "M." in text else "%H:%M"
        )
        minutes = sum(int(n) for n in re.findall(r"(\d+) min", text))
        hours = sum(int(n) for n in re.findall(r"(\d+) hours", text))
        passed = timedelta(hours=hours, minutes=minutes)
        assert sample.target == (start - passed if "outage" in text else start + passed).strftime("%H:%M")


@pytest.mark.parametrize(
    ("start", "fits"),
    [
        ("Take", lambda kb, mb, said: said == mb * 1000 - kb),
        ("Add", lambda kb, mb, said: said == mb * 1000 + kb),
    ],
)
def test_kilobytes_are_taken_and_added_by_the_thousand(start, fits):
    asked = [sample for sample in samples("size", "sealed") if sample.user_text.startswith(start)]
    assert len(asked) > 10
    for sample in asked:
        kb, mb = (int(re.search(rf"(\d+) {unit}", sample.user_text).group(1)) for unit in ("KB", "MB"))
        assert fits(kb, mb, int(sample.target))


def test_percentages_come_out_whole():
    for sample in samples("share", "sealed"):
        text, said = sample.user_text, int(sample.target)
        numbers = [int(number) for number in re.findall(r"\d+", text)]
        if "went out" in text:
            assert numbers[1] * 100 == said * numbers[0]
        if text.startswith("Compute"):
            assert numbers[0] * numbers[1] == said * 100
        if text.startswith("Memory"):
            assert (numbers[0] - numbers[1]) * 100 == said * numbers[0]
