"""Untrusted text and figures, as a page shows them."""

import pytest

from cipher_nb.report.plain import duration, moment, plain, sentence, signed


def test_what_prints_nothing_is_spelled_out():
    assert plain("a\u202eb\x00c\u200bd\ne\tf é 漢 ع") == "a\\u202eb\\x00c\\u200bd\ne\tf é 漢 ع"


def test_a_long_text_ends_with_how_much_more_there_is():
    assert plain("x" * 1_500, 5) == "xxxxx … (1,495 more characters)"


@pytest.mark.parametrize(("value", "shown"), [(None, ""), (3, "3"), (["a"], "['a']")])
def test_other_values_become_text(value, shown):
    assert plain(value) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [(None, "–"), (0.0, "0.00"), (0.124, "+0.12"), (-0.05, "−0.05"), (-0.0512, "−0.051"), (-0.004, "−0.004")],
)
def test_a_difference_is_never_rounded_onto_a_limit_it_is_not_on(value, shown):
    assert signed(value) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"), [(None, ""), (0.44, "0.4 s"), (42, "42 s"), (185, "3 min 5 s"), (7800, "2 h 10 min")]
)
def test_a_duration_is_told_in_two_units(seconds, shown):
    assert duration(seconds) == shown


def test_a_moment_is_told_in_utc():
    assert moment("2026-11-30T03:04:00+01:00") == "30 November 2026, 02:04 UTC"
    assert moment("yesterday") == ""


def test_a_reason_becomes_a_sentence():
    assert sentence("the rule failed") == "The rule failed."
    assert sentence("Done!") == "Done!"
    assert sentence("") == ""
