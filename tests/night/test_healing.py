"""Which categories count as failed, and what they put into the dataset."""

from __future__ import annotations

from pathlib import Path

from cipher_nb.battery.families import sealed
from cipher_nb.config import BatterySettings
from cipher_nb.night.folder import NightFolder
from cipher_nb.night.healing import Weak, fell_in, healing_pairs, weak_categories

SETTINGS = BatterySettings()


def test_the_weakest_category_gets_all_its_pairs_and_other_failed_ones_a_quarter() -> None:
    scores = {"settings": 0.49, "keybindings": 0.5, "command registry": 0.2, "agent tools": 0.8}
    assert weak_categories(SETTINGS, scores) == [
        Weak("command registry", 0.2, 96, "scores 0.20"),
        Weak("settings", 0.49, 24, "scores 0.49"),
    ]


def test_nothing_failed_when_all_reach_the_mark() -> None:
    assert weak_categories(SETTINGS, {"settings": 0.5}) == []


def test_all_together_get_no_more_than_the_cap() -> None:
    names = ("settings", "keybindings", "command registry", "agent tools")
    weak = weak_categories(BatterySettings(practice_pairs=40, max_practice_pairs=55), dict.fromkeys(names, 0.1))
    assert [(each.category, each.pairs) for each in weak] == [
        ("agent tools", 40),
        ("command registry", 10),
        ("keybindings", 5),
    ]


def test_a_category_that_fell_is_healed_whatever_it_scores() -> None:
    weak = weak_categories(SETTINGS, {"settings": 0.9}, fell={"settings": "fell by 0.08 in night n1", "gone": "fell"})
    assert weak == [Weak("settings", 0.9, 96, "fell by 0.08 in night n1")]


def test_an_operators_own_category_has_no_practice_side() -> None:
    assert weak_categories(SETTINGS, {"my own": 0.0}) == []


def test_what_fell_is_read_from_the_gate_of_a_night(tmp_path: Path) -> None:
    night = NightFolder(tmp_path / "2026-11-30T01-00-00Z")
    night.path.mkdir()
    rows = [("a", -0.08), ("b", -0.05), ("c", 0.1), ("d", None)]
    rule = {"categories": [{"category": name, "delta": delta} for name, delta in rows]}
    words = {"a": "open", "b": "worse", "c": "better"}
    evidence = {"categories": [{"category": name, "word": word} for name, word in words.items()]}
    night.finish("gate", {"rule": rule, "evidence": evidence})
    assert fell_in(night) == {
        "a": "fell by 0.08 in night 2026-11-30T01-00-00Z",
        "b": "fell by 0.05 in night 2026-11-30T01-00-00Z",
    }


def test_a_night_without_a_verdict_tells_nothing(tmp_path: Path) -> None:
    assert fell_in(None) == fell_in(NightFolder(tmp_path)) == {}


def test_healing_pairs_answer_practice_questions_and_name_the_failure() -> None:
    pairs = healing_pairs(Weak("settings", 0.2, 6, "scores 0.20"), seed=7)
    assert [pair.source for pair in pairs] == ["practice:settings"] * 6
    asked = {sample.user_text for sample in sealed("settings", 64, seed=7)}
    assert not asked & {pair.messages[-1]["content"] for pair in pairs}
    assert all(pair.response for pair in pairs)
