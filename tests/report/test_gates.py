"""The slowest and most failing gates: what is counted, in which order, and how it is shown."""

import warnings

from cipher_nb.records import UNDATED, Event
from cipher_nb.report.gate_chart import gates_chart, gates_picture
from cipher_nb.report.gates import Gate, gates, gates_table
from tests.report.frames import HOSTILE, event, frame, words_in


def runs(name, *, passed=0, failed=0, ms=(1000,)):
    outcomes = [True] * passed + [False] * failed
    return [
        event("gate", number, gate=name, passed=outcome, duration_ms=ms[number % len(ms)])
        for number, outcome in enumerate(outcomes)
    ]


def test_a_gate_tells_runs_failures_median_and_95th_percentile():
    events = frame(*runs("pytest", passed=8, failed=3, ms=range(0, 11_000, 1000)))
    assert gates(events) == [Gate("pytest", runs=11, failed=3, median_s=5.0, p95_s=9.5)]
    assert gates_table(events).rows == [("pytest", "11", "3", "27%", "5.0", "9.5")]


def test_the_one_that_fails_most_and_the_one_that_lasts_longest_take_turns():
    events = frame(
        *runs("steady", passed=100, ms=(10,)),
        *runs("one unlucky run", failed=1, ms=(20,)),
        *runs("fails often", passed=60, failed=40, ms=(30,)),
        *runs("slow", passed=5, ms=(90_000,)),
        *runs("less slow", passed=5, ms=(50_000,)),
    )
    assert [gate.name for gate in gates(events)] == ["fails often", "slow", "one unlucky run", "less slow", "steady"]


def test_runs_without_an_outcome_and_impossible_durations_do_not_count():
    events = frame(
        Event("gate", UNDATED, "a", {"gate": "g", "passed": True, "duration_ms": -5}),
        Event("gate", UNDATED, "b", {"gate": "g", "passed": False, "duration_ms": 1e300}),
        Event("gate", UNDATED, "c", {"gate": "g", "passed": None, "duration_ms": 7}),
        Event("gate", UNDATED, "d", {"passed": True, "duration_ms": 7}),
        Event("check", UNDATED, "e", {"gate": "g", "passed": True, "duration_ms": 7}),
    )
    assert gates(events) == [Gate("g", runs=2, failed=1, median_s=None, p95_s=None)]
    assert gates_table(events).rows == [("g", "2", "1", "50%", "–", "–")]
    assert "no duration told" in words_in(gates_chart(gates(events)))


def test_a_long_command_is_shortened_in_the_middle():
    command = f"python -m pytest -q {'tests/deep/' * 20}test_swap.py --timeout 300"
    (row,) = gates_table(frame(*runs(command, passed=1))).rows
    assert row[0].startswith("python -m pytest -q tests/deep/")
    assert row[0].endswith("test_swap.py --timeout 300")
    assert len(row[0]) == 70


def test_the_picture_says_in_words_what_it_shows():
    events = frame(*runs("mypy", passed=3, failed=1, ms=(2000, 2000, 2000, 40_000)))
    words = words_in(gates_chart(gates(events)))
    assert {"mypy", "25% of 4", "2.0 to 34 s", "share of runs that failed"} <= set(words)
    assert gates_picture(events).alt == (
        "Gates that fail most and take longest. mypy failed 1 of 4 times and took 2.0 s, at the 95th percentile 34 s."
    )


def test_many_gates_are_cut_to_the_worst():
    events = frame(*(run for number in range(40) for run in runs(f"gate {number:02}", passed=2)))
    rows = gates_table(events).rows
    assert len(rows) == 16
    assert rows[-1][0] == "25 more"
    assert sum(word.startswith("gate ") for word in words_in(gates_chart(gates(events)[:8]))) == 8


def test_a_share_under_one_percent_is_not_rounded_away():
    assert gates_table(frame(*runs("g", passed=499, failed=1))).rows[0][3] == "0.2%"


def test_without_gates_there_is_a_sentence():
    assert repr(gates_table(frame())).startswith("No gate has run yet. ")
    assert words_in(gates_chart([])) == ["no gate has run yet"]
    assert gates_picture(frame()).alt == "Gates that fail most and take longest. No gate has run yet."


def test_hostile_names_are_short_inert_and_drawn_without_a_warning():
    events = frame(*runs(HOSTILE, failed=1, ms=(0,)), *runs("$\\bad{$", passed=1, ms=(31_000_000_000,)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        html = gates_picture(events).html()
    assert len(html) < 200_000
    words = words_in(gates_chart(gates(events)))
    assert "$\\bad{$" in words
    assert [word for word in words if word.startswith("&lt;/title&gt;") and word.endswith(" end")]
    assert "<script" not in gates_table(events)._repr_html_()
