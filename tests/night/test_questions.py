"""What the gate asks, in which order, and what is retired because it was trained on."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cipher_nb.battery.families import CATEGORIES, practice, sealed
from cipher_nb.config import BatterySettings, Config
from cipher_nb.errors import BatteryError
from cipher_nb.night.questions import Questions, leaked, questions
from cipher_nb.paths import Paths
from cipher_nb.training.data.pairs import Pair


def asked(tmp_path: Path, *, own: list[dict[str, Any]] | None = None, **settings: Any) -> Questions:
    paths = Paths(tmp_path)
    paths.battery.mkdir(parents=True, exist_ok=True)
    lines = "".join(json.dumps(row) + "\n" for row in own or [])
    (paths.battery / "mine.jsonl").write_text(lines)
    return questions(replace(Config(), battery=BatterySettings(**settings)), paths)


def pair(question: str, answer: str = "ok") -> Pair:
    return Pair(({"role": "system", "content": "s"}, {"role": "user", "content": question}), answer)


def test_without_settings_every_category_is_asked(tmp_path: Path) -> None:
    found = asked(tmp_path, per_category=8)
    assert tuple(found.categories) == CATEGORIES
    assert set(found.sizes.values()) == {8}


def test_the_operator_may_choose_categories(tmp_path: Path) -> None:
    found = asked(tmp_path, per_category=5, categories=("settings", "agent tools"))
    assert found.sizes == {"settings": 5, "agent tools": 5}
    assert found.first({"settings": 2}) == sealed("settings", 2, seed=7)


def test_an_unknown_category_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(BatteryError, match="category 'setings' is unknown; known: "):
        asked(tmp_path, categories=("setings",))


def test_the_operators_samples_join_a_category_or_make_one(tmp_path: Path) -> None:
    own = [
        {"input": "Next after 1.4.9?", "target": "1.4.10"},
        {"input": "Which key?", "target": "tab", "metadata": {"category": "keybindings"}},
    ]
    found = asked(tmp_path, own=own, per_category=4, categories=("keybindings",))
    assert found.sizes == {"keybindings": 5, "mine": 1}
    assert found.categories["keybindings"][-1].target == "tab"


def test_what_must_pass_stands_apart_and_is_asked_with_everything(tmp_path: Path) -> None:
    own = [{"input": "Say ok.", "target": "ok", "metadata": {"must_pass": True}}]
    found = asked(tmp_path, own=own, per_category=4, categories=("settings",))
    assert found.sizes == {"settings": 4}
    assert [sample.target for sample in found.must_pass] == ["ok"]
    assert len(found.all()) == 5
    assert found.pinned == {found.must_pass[0].id}


def test_eight_words_in_a_row_that_were_trained_on_leak_a_sample(tmp_path: Path) -> None:
    long = "How do I make the list of files in the panel shorter?"
    found = asked(tmp_path, own=[{"input": long, "target": "x"}], per_category=1, categories=("settings",))
    trained = [pair("Tell me: how do I make the list of files in the sidebar longer?")]
    sample = found.categories["mine"][0]
    assert leaked(found.all(), trained) == {sample.id: "do i make the list of files in"}
    assert leaked(found.all(), [pair("Other words.", f"They asked: {long}")]).keys() == {sample.id}


def test_a_short_question_leaks_as_a_whole_only(tmp_path: Path) -> None:
    found = asked(tmp_path, own=[{"input": "Which tool?", "target": "x"}], per_category=1, categories=("settings",))
    sample = found.categories["mine"][0]
    assert leaked(found.all(), [pair("which TOOL")]) == {sample.id: "Which tool?"}
    assert leaked(found.all(), [pair("Which tool is it?", "Which tool?")]) == {}


def test_a_retired_sample_is_asked_no_more_and_an_emptied_category_is_gone(tmp_path: Path) -> None:
    found = asked(tmp_path, own=[{"input": "Which tool?", "target": "x"}], per_category=3, categories=("settings",))
    gone = [found.categories["settings"][1].id, found.categories["mine"][0].id]
    kept = found.without(gone)
    assert kept.sizes == {"settings": 2}
    assert not set(gone) & {sample.id for sample in kept.all()}


def test_nothing_the_battery_trains_on_leaks_into_what_it_asks(tmp_path: Path) -> None:
    found = asked(tmp_path, per_category=64)
    trained = [Pair(each.messages, each.reference) for name in CATEGORIES for each in practice(name, 96, seed=7)]
    assert leaked(found.first(found.sizes), trained) == {}


def test_code_that_nothing_can_hold_in_is_left_out_and_counted(tmp_path: Path) -> None:
    (tmp_path / ".aide" / "battery").mkdir(parents=True)
    config = replace(Config(), battery=BatterySettings(per_category=10, categories=("code", "settings")))
    with_code, without = (questions(config, Paths(tmp_path), code=code) for code in (True, False))
    assert (with_code.sizes, with_code.left_out) == ({"code": 10, "settings": 10}, 0)
    assert (without.sizes, without.left_out) == ({"code": 6, "settings": 10}, 4)
