import os
import subprocess
import sys

import pytest

from cipher_nb.errors import TrainingError
from cipher_nb.training.data.dataset import LeftOut, combine, freeze, read_dataset, read_header
from cipher_nb.training.data.pairs import Pair
from tests.training.conftest import pair

NEW = [pair(f"What is {number} squared?", str(number * number)) for number in range(70)]
REPLAY = [Pair(({"role": "user", "content": f"Say {number}."},), str(number), source="replay") for number in range(50)]
LONG = " ".join(f"word{number}" for number in range(60))


def combined(new, replay=(), *, share=0.3, seed=0, sealed=(), **more):
    return combine(new, replay, share=share, seed=seed, sealed_texts=sealed, **more)


def frozen(path, dataset):
    freeze(dataset, path)
    return path


def test_seventy_new_pairs_get_thirty_of_replay(tmp_path):
    dataset = combined(NEW, REPLAY)
    assert (dataset.new_count, dataset.replay_count, len(dataset.pairs)) == (70, 30, 100)
    assert dataset.notes == ()
    assert read_dataset(frozen(tmp_path / "d.jsonl", dataset)) == dataset.pairs


def test_too_little_replay_is_said():
    dataset = combined(NEW, REPLAY[:4])
    assert dataset.replay_count == 4
    assert dataset.notes == ("replay: 4 pairs instead of 30",)


def test_the_same_input_gives_the_same_bytes_and_another_seed_another_order(tmp_path):
    one, again, other = (combined(NEW, REPLAY, seed=seed) for seed in (1, 1, 2))
    written, twice = frozen(tmp_path / "a", one), frozen(tmp_path / "b", again)
    assert written.read_bytes() == twice.read_bytes()
    assert written.read_bytes() != frozen(tmp_path / "c", other).read_bytes()
    assert one.pairs[:70] != tuple(NEW)


FREEZE = """
import sys
from pathlib import Path
from cipher_nb.training.data.dataset import combine, freeze
from cipher_nb.training.data.pairs import Pair
asked = [f"{'word ' * (n % 7)}{n} and {n % 13} of {n % 5} please" for n in range(300)]
new = [Pair(({"role": "user", "content": text},), "done" if n % 3 else f"{n}") for n, text in enumerate(asked)]
replay = [Pair(({"role": "user", "content": f"Say {n}."},), "done", source="replay") for n in range(200)]
sealed = ["one two three four five six seven eight nine ten", "3 and 3 of 3 please"]
freeze(combine(new, replay, share=0.3, seed=4, sealed_texts=sealed), Path(sys.argv[1]))
"""


def test_another_process_writes_the_same_bytes(tmp_path):
    for seed in ("1", "2"):  # of the hashes, and so of the order in which sets are walked through
        env = {**os.environ, "PYTHONHASHSEED": seed}
        subprocess.run([sys.executable, "-c", FREEZE, str(tmp_path / seed)], check=True, env=env)
    assert (tmp_path / "1").read_bytes() == (tmp_path / "2").read_bytes()


def test_of_duplicates_the_first_stays():
    first = pair("Which command lists files?", "ls")
    second = pair("which command lists files", "LS.")
    dataset = combined([first, second])
    assert dataset.pairs == (first,)
    assert dataset.dropped == (LeftOut(second.id, "approved", f"duplicate of {first.id}"),)


def test_the_same_question_with_another_answer_is_no_duplicate():
    assert combined([pair("Pick one.", "a"), pair("Pick one.", "b")]).new_count == 2


def test_a_long_question_with_a_word_changed_at_its_end_is_a_near_duplicate():
    first, second = pair(f"{LONG} please", "done"), pair(f"{LONG} thanks", "done")
    dataset = combined([first, second])
    assert dataset.dropped == (LeftOut(second.id, "approved", f"near duplicate of {first.id}"),)


def test_short_questions_that_differ_in_a_word_are_both_kept():
    new = [pair("Which command removes a file?", "rm"), pair("Which command deletes a file?", "rm")]
    assert combined(new).new_count == 2


EIGHT = "one two three four five six seven eight"


@pytest.mark.parametrize(
    "leaking",
    [pair("Say: One, two three four five six seven -- eight!", "ok"), pair("Count.", f"Here: {EIGHT} nine")],
    ids=["in the question", "in the answer"],
)
def test_eight_words_in_a_row_of_a_sealed_sample_are_dropped(leaking):
    dataset = combined([NEW[0], leaking], sealed=[f"zero {EIGHT} nine"])
    assert dataset.pairs == (NEW[0],)
    reason = "shares 'one two three four five six seven eight' with a sealed sample"
    assert dataset.dropped == (LeftOut(leaking.id, "approved", reason),)


def test_seven_words_in_a_row_are_kept():
    assert combined([pair("two three four five six seven eight", "ok")], sealed=[EIGHT]).new_count == 1


def test_a_short_sealed_question_is_met_whole():
    kept, leaking = pair("What is seven squared?", "49"), pair("What is six squared?", "36")
    dataset = combined([kept, leaking], sealed=["what is SIX squared"])
    assert dataset.pairs == (kept,)
    assert dataset.dropped == (LeftOut(leaking.id, "approved", "asks a sealed sample's question"),)


def test_the_shared_system_text_does_not_count_as_a_leak():
    sealed = ["You are a careful coding assistant. Answer briefly."]
    assert combined(NEW[:3], sealed=sealed).new_count == 3


@pytest.mark.parametrize(
    ("secret", "name"),
    [
        ("-----BEGIN RSA PRIVATE KEY-----\nMIIE", "a private key"),
        ("key = AKIAIOSFODNN7EXAMPLE", "an AWS key"),
        ("token: ghp_" + "a1" * 18, "a GitHub token"),
        ("xoxb-1234567890-abcdef", "a Slack token"),
    ],
)
def test_a_pair_with_a_secret_is_dropped(secret, name):
    dataset = combined([NEW[0], pair("Show the config.", secret)])
    assert dataset.pairs == (NEW[0],)
    assert dataset.dropped[0].reason == f"holds {name}"


def test_nothing_left_to_train_on_is_an_error():
    with pytest.raises(TrainingError, match="none of the 1 new pairs may be trained on"):
        combined([pair("Key?", "AKIAIOSFODNN7EXAMPLE")], REPLAY)


def test_a_cut_off_dataset_is_not_read_as_a_whole_one(tmp_path):
    path = frozen(tmp_path / "d.jsonl", combined(NEW))
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(TrainingError, match="not a whole dataset"):
        read_dataset(path)


def test_the_share_is_that_of_the_final_mix_after_screening():
    doubled = [*NEW, *(pair(f"what is {number} SQUARED", str(number * number)) for number in range(70))]
    dataset = combined(doubled, [*REPLAY[:30], *REPLAY[:30]])
    assert (dataset.new_count, dataset.replay_count, len(dataset.pairs)) == (70, 30, 100)


@pytest.mark.parametrize("share", [-0.1, 1.0, 1.5])
def test_a_share_that_leaves_no_room_is_refused(share):
    with pytest.raises(TrainingError, match=rf"\[training\] replay_share = {share} must be at least 0 and below 1"):
        combined(NEW, REPLAY, share=share)


def test_without_a_share_there_is_no_replay():
    assert combined(NEW, REPLAY, share=0.0).replay_count == 0


def test_the_header_says_what_came_in_what_is_new_and_what_was_left_out_and_why(tmp_path):
    practice = pair("Which key saves?", "ctrl+s", source="practice:keybindings")
    secret = pair("Key?", "AKIAIOSFODNN7EXAMPLE")
    dataset = combined(
        [*NEW[:6], secret, practice],
        REPLAY,
        trained_before=[NEW[0].id, NEW[1].id, REPLAY[0].id],
        left_out=[LeftOut("task-9", "approved", "no gate passed")],
    )
    assert read_header(frozen(tmp_path / "d.jsonl", dataset)) == {
        "pairs": 10,
        "new": 4,
        "earlier": 2,
        "practice": 1,
        "replay": 3,
        "rejected": 0,
        "share": 0.3,
        "sources": [
            {"source": "approved", "came_in": 8, "kept": 6},
            {"source": "practice:keybindings", "came_in": 1, "kept": 1},
            {"source": "replay", "came_in": 50, "kept": 3},
        ],
        "dropped": [
            {"id": "task-9", "source": "approved", "reason": "no gate passed"},
            {"id": secret.id, "source": "approved", "reason": "holds an AWS key"},
        ],
        "notes": [],
    }


def test_a_file_that_is_no_dataset_has_no_header(tmp_path):
    path = tmp_path / "other.jsonl"
    path.write_text('{"dataset": 3}\n')
    assert (read_header(path), read_header(tmp_path / "none.jsonl")) == ({}, {})
