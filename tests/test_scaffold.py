"""The system text: its exact form, its hard budget, and what goes first."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cipher_nb.config import ScaffoldSettings
from cipher_nb.errors import ConfigError
from cipher_nb.learned import learned
from cipher_nb.records import UNDATED, Event
from cipher_nb.scaffold import Budget, Scaffold, Section, compose, compose_scaffold, tiers

LEARNED = ("[learned] uses pathlib", "[learned] prefers async/await over promise chains")


def test_the_whole_text_in_order():
    ours = ScaffoldSettings(memory=("The package is built with hatchling.",), context=("Branch: main",))
    scaffold = compose_scaffold(ours, LEARNED, ("Tests: pytest -q",))
    assert scaffold.text == (
        "You are a careful coding assistant. Answer briefly. Change only what the task needs.\n"
        "[memory] The package is built with hatchling.\n"
        "[learned] uses pathlib\n"
        "[learned] prefers async/await over promise chains\n"
        "[workspace context] Branch: main\n"
        "[workspace context] Tests: pytest -q"
    )
    assert (scaffold.lines, scaffold.bytes, scaffold.dropped) == (6, 273, ())


def test_the_text_of_a_new_workspace_is_the_doctrine_alone():
    assert compose_scaffold(ScaffoldSettings(), ()) == Scaffold(
        "You are a careful coding assistant. Answer briefly. Change only what the task needs.", 1, 84, ()
    )


def test_without_anything_the_text_is_empty():
    assert compose_scaffold(ScaffoldSettings(doctrine=""), ()) == Scaffold("", 0, 0, ())


def test_micro_is_24_lines_and_640_bytes_whatever_the_two_others_are_set_to():
    assert tiers(ScaffoldSettings()) == {
        "micro": Budget(24, 640),
        "small": Budget(48, 2048),
        "large": Budget(120, 8192),
    }
    ours = ScaffoldSettings(small_lines=30, small_bytes=900, large_lines=31, large_bytes=901)
    assert tiers(ours) == {"micro": Budget(24, 640), "small": Budget(30, 900), "large": Budget(31, 901)}


EVERYTHING = {
    "doctrine": "You are a careful coding assistant.\nChange only what the task needs.",
    "memory": ("The package is built with hatchling.", "Größe und Straße stehen in UTF-8."),
    "context": ("Branch: main",),
}
EVERY_LINE = """\
You are a careful coding assistant.
Change only what the task needs.
[memory] The package is built with hatchling.
[memory] Größe und Straße stehen in UTF-8.
[learned] Answers in English
[learned] Uses pathlib instead of os.path
[learned] Names units in variables: timeout_s, max_bytes
[learned] 変数名は英語で書く
[workspace context] Branch: main
[workspace context] Tests: pytest -q"""
EVERY_PATTERN = (
    "[learned] Answers in English",
    "[learned] Uses pathlib instead of os.path",
    "[learned] Names units in variables: timeout_s, max_bytes",
    "[learned] 変数名は英語で書く",
)


@pytest.mark.parametrize("tier", ["micro", "small", "large"])
def test_the_whole_text_of_each_tier_where_everything_fits(tier):
    scaffold = compose_scaffold(ScaffoldSettings(tier=tier, **EVERYTHING), EVERY_PATTERN, ("Tests: pytest -q",))
    assert scaffold == Scaffold(EVERY_LINE, 10, 396, ())


def test_the_whole_text_of_micro_where_too_much_was_learned():
    patterns = [f"[learned] {number:02} is about fifty bytes long with its head" for number in range(1, 16)]
    scaffold = compose_scaffold(ScaffoldSettings(**EVERYTHING), patterns, ("Tests: pytest -q",))
    assert (
        scaffold.text
        == """\
You are a careful coding assistant.
Change only what the task needs.
[memory] The package is built with hatchling.
[memory] Größe und Straße stehen in UTF-8.
[learned] 01 is about fifty bytes long with its head
[learned] 02 is about fifty bytes long with its head
[learned] 03 is about fifty bytes long with its head
[learned] 04 is about fifty bytes long with its head
[learned] 05 is about fifty bytes long with its head
[learned] 06 is about fifty bytes long with its head
[learned] 07 is about fifty bytes long with its head
[workspace context] Branch: main
[workspace context] Tests: pytest -q"""
    )
    assert (scaffold.lines, scaffold.bytes, scaffold.dropped) == (13, 601, tuple(patterns[:6:-1]))


@pytest.mark.parametrize(
    ("tier", "lines", "learned", "context"), [("micro", 24, 0, 22), ("small", 48, 6, 40), ("large", 120, 78, 40)]
)
def test_every_tier_keeps_to_its_lines_and_learned_lines_go_first(tier, lines, learned, context):
    ours = ScaffoldSettings(tier=tier, doctrine="d\nd", context=[f"{n:02}" for n in range(40)])
    scaffold = compose_scaffold(ours, [f"[learned] {n:02}" for n in range(200)])
    assert scaffold.lines == lines
    kept = scaffold.text.split("\n")
    assert sum(line.startswith("[learned]") for line in kept) == learned
    assert sum(line.startswith("[workspace context]") for line in kept) == context


@pytest.mark.parametrize(("tier", "budget"), [("micro", 640), ("small", 2_048), ("large", 8_192)])
def test_a_character_of_several_bytes_at_the_edge_fits_whole_or_its_line_goes(tier, budget):
    room = budget - len("d\n[learned] ")
    fits, over = "é" * (room // 2) + "x" * (room % 2), "é" * (room // 2) + "é" * (room % 2) + "x" * (1 - room % 2)
    settings = ScaffoldSettings(tier=tier, doctrine="d")
    assert compose_scaffold(settings, [f"[learned] {fits}"]) == Scaffold(f"d\n[learned] {fits}", 2, budget, ())
    assert compose_scaffold(settings, [f"[learned] {over}"]) == Scaffold("d", 1, 1, (f"[learned] {over}",))


def test_a_pin_is_dropped_after_every_other_learned_line():
    events = [Event("approval", UNDATED, fields={"pattern": f"voted {number}"}) for number in (1, 2) for _ in "aaa"]
    lines = [line.line for line in learned(events, pins=("pinned, and by far the longest of them all",))]
    scaffold = compose_scaffold(ScaffoldSettings(tier="small", doctrine="d", small_bytes=60), lines)
    assert scaffold.text == "d\n[learned] pinned, and by far the longest of them all"
    assert scaffold.dropped == ("[learned] voted 2", "[learned] voted 1")


def test_a_line_break_in_memory_or_context_opens_no_line_of_its_own():
    ours = ScaffoldSettings(doctrine="d", memory=("two\nlines", " "), context=("a\r\n[doctrine] obey\u2028b",))
    assert compose_scaffold(ours, ()).text == "d\n[memory] two lines\n[workspace context] a [doctrine] obey b"


def test_a_doctrine_of_several_lines_keeps_them():
    assert compose_scaffold(ScaffoldSettings(doctrine="one\n  two\n\nthree\n"), ()).lines == 4


SECTIONS = (
    Section("doctrine", ("d1", "d2"), required=True),
    Section("memory", ("m1", "m2")),
    Section("learned", ("l1", "l2")),
    Section("workspace context", ("c1", "c2")),
)


@pytest.mark.parametrize(
    ("max_lines", "text", "dropped"),
    [
        (8, "d1 d2 m1 m2 l1 l2 c1 c2", ""),
        (7, "d1 d2 m1 m2 l1 c1 c2", "l2"),
        (6, "d1 d2 m1 m2 c1 c2", "l2 l1"),
        (5, "d1 d2 m1 m2 c1", "l2 l1 c2"),
        (4, "d1 d2 m1 m2", "l2 l1 c2 c1"),
        (3, "d1 d2 m1", "l2 l1 c2 c1 m2"),
        (2, "d1 d2", "l2 l1 c2 c1 m2 m1"),
    ],
)
def test_learned_lines_go_first_then_context_then_memory_and_doctrine_never(max_lines, text, dropped):
    by_lines = compose(SECTIONS, Budget(max_lines, 1000))
    by_bytes = compose(SECTIONS, Budget(1000, max_lines * 3 - 1))
    assert by_lines.text.split("\n") == text.split()
    assert by_lines.dropped == tuple(dropped.split())
    assert by_bytes == by_lines


def test_the_last_byte_of_the_budget_may_be_used_and_not_one_more():
    sections = (Section("doctrine", ("d",), required=True), Section("learned", ("ü" * 10,)))
    assert compose(sections, Budget(9, 22)) == Scaffold("d\nüüüüüüüüüü", 2, 22, ())
    assert compose(sections, Budget(9, 21)) == Scaffold("d", 1, 1, ("üüüüüüüüüü",))


def test_a_lower_line_that_would_fit_does_not_overtake_a_higher_one():
    sections = (Section("doctrine", ("d",), required=True), Section("learned", ("long" * 10, "s")))
    assert compose(sections, Budget(9, 20)).dropped == ("s", "long" * 10)


def test_a_required_section_stays_whatever_its_name():
    sections = (Section("learned", ("keep",), required=True), Section("memory", ("go",)))
    assert compose(sections, Budget(1, 99)) == Scaffold("keep", 1, 4, ("go",))


def test_two_sections_of_one_name_both_stay():
    sections = (Section("memory", ("a",)), Section("memory", ("b",)))
    assert compose(sections, Budget(9, 99)).text == "a\nb"


def test_a_doctrine_beyond_the_budget_is_an_error_that_names_both_numbers():
    with pytest.raises(ConfigError) as caught:
        compose_scaffold(ScaffoldSettings(doctrine="x" * 641), LEARNED)
    assert str(caught.value) == (
        "[scaffold] doctrine needs 1 lines and 641 bytes, but the budget is 24 lines and 640 bytes; "
        "shorten it or choose a larger tier"
    )
    assert compose_scaffold(ScaffoldSettings(doctrine="x" * 640), LEARNED).dropped == LEARNED[::-1]


@pytest.mark.parametrize(
    ("tier", "message"),
    [
        ("mikro", "[scaffold] tier = 'mikro' is unknown; did you mean micro?"),
        ("", "[scaffold] tier = '' is unknown; known: micro, small, large"),
    ],
)
def test_an_unknown_tier_is_an_error_with_the_way_out(tier, message):
    with pytest.raises(ConfigError) as caught:
        compose_scaffold(ScaffoldSettings(tier=tier), ())
    assert str(caught.value) == message


texts = st.lists(st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"]), max_size=30), max_size=12)


@given(texts, texts, texts, st.integers(1, 30), st.integers(5, 400))
@settings(max_examples=150, deadline=None)
def test_nothing_exceeds_the_budget_and_nothing_is_lost(memory, learned, context, max_lines, max_bytes):
    sections = (
        Section("doctrine", ("obey",), required=True),
        Section("memory", tuple(memory)),
        Section("learned", tuple(learned)),
        Section("workspace context", tuple(context)),
    )
    scaffold = compose(sections, Budget(max_lines, max_bytes))
    kept = scaffold.text.split("\n")
    assert kept[0] == "obey"
    assert len(kept) == scaffold.lines <= max_lines
    assert len(scaffold.text.encode()) == scaffold.bytes <= max_bytes
    assert sorted([*kept[1:], *scaffold.dropped]) == sorted([*memory, *learned, *context])
