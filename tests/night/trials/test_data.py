"""What trials train on."""

import json
from dataclasses import replace

from cipher_nb.battery.families import practice
from cipher_nb.config import BatterySettings
from cipher_nb.night.trials.data import file_replay, freeze_new, healthy, weakest
from cipher_nb.night.trials.plan import Trial
from cipher_nb.training.data.pairs import Pair
from tests.night.trials.conftest import SCORES
from tests.night.trials.workspaces import approve


def sources(pairs):
    return sorted(pair.source for pair in pairs)


def frozen_again(study, *, asked=""):
    return freeze_new(study.parts, study.folder / "pairs.json", scores=SCORES, asked=asked or study.asked)


def test_the_new_pairs_are_the_approved_work_and_practice_for_the_weakest_category(study):
    assert sources(study.frozen.new) == ["approved"] * 2 + ["practice:keybindings"] * 8
    assert study.frozen.target.category == "keybindings"


def test_every_share_of_replay_trains_on_the_same_new_pairs(study):
    for share, replay in ((0.0, 0), (0.3, 4), (0.5, 10)):
        pairs = study.pairs(Trial(5e-4, share))
        new = {pair.id for pair in pairs if pair.source != "replay"}
        assert (new, len(pairs)) == ({pair.id for pair in study.frozen.new}, 10 + replay)


def test_work_approved_later_stays_out_until_another_base_is_asked(study, ws):
    approve(ws, "three")
    assert frozen_again(study) == study.frozen
    assert len(frozen_again(study, asked="of another base").new) == 11


def test_a_task_that_is_purged_is_gone_and_its_text_was_nowhere_kept(study, ws):
    assert "approved" in sources(study.pairs(Trial(5e-4, 0.3)))
    ws.purge(tasks=["one"])
    assert sources(frozen_again(study).new) == ["approved"] + ["practice:keybindings"] * 8
    kept = [path.read_text() for path in study.folder.iterdir() if path.is_file()]
    assert kept
    assert not [text for text in kept if "Do task" in text]


def test_the_weakest_category_is_healed_whether_or_not_it_failed():
    target = weakest(BatterySettings(practice_pairs=96, max_practice_pairs=64), {"a": 0.9, "b": 0.7})
    assert (target.category, target.pairs) == ("b", 64)


def test_only_what_did_not_fail_is_held_on_to():
    assert healthy(BatterySettings(), {**SCORES, "agent tools": 0.2}, "keybindings") == ["settings", "command registry"]


def test_replay_from_a_file_is_practice_with_the_right_answers_as_messages(study):
    rows = [json.loads(line) for line in (study.folder / "replay-file.jsonl").read_text().splitlines()]
    assert [row["messages"][-1] for row in rows] == [
        {"role": "assistant", "content": pair.response} for pair in study.replay["file"]
    ]
    assert sources(study.pairs(Trial(5e-4, 0.5, replay="file"))).count("replay") == 10


def test_replay_is_spread_over_the_categories_and_no_more_than_was_asked_for(study):
    path = study.folder / "three.jsonl"
    categories = ["settings", "command registry"]
    pairs = file_replay(study.parts, 3, categories, path=path)
    first = {name: practice(name, 1, seed=study.parts.config.battery.seed)[0].reference for name in categories}
    assert [pair.response for pair in pairs[:2]] == list(first.values())
    assert len(pairs) == 3


def test_rejected_answers_are_only_for_trials_that_learn_from_them(study):
    rejected = Pair(({"role": "user", "content": "Which key?"},), "None.", source="rejected")
    study = replace(study, rejected=(rejected,))
    assert rejected not in study.pairs(Trial(5e-4, 0.3))
    assert study.pairs(Trial(5e-4, 0.3, rejections="kto"))[-1] == rejected


def test_a_trial_is_known_by_pairs_settings_and_what_was_asked(study):
    key = study.key(Trial(5e-4, 0.3))
    assert study.key(Trial(5e-4, 0.3)) == key
    others = [Trial(1e-4, 0.3), Trial(5e-4, 0.5), Trial(5e-4, 0.3, 1), Trial(5e-4, 0.3, load_in_4bit="yes")]
    assert len({key, *map(study.key, others)}) == 5
    assert replace(study, samples=study.samples[1:]).key(Trial(5e-4, 0.3)) != key
