"""Training on what the operator rejected: off unless it is asked for, and then it is unlearned."""

from dataclasses import replace

import pytest

from cipher_nb.config import TrainingSettings
from cipher_nb.training.qlora.material import NOTHING_REJECTED
from cipher_nb.training.qlora.train import train
from tests.training.conftest import pair
from tests.training.runs import adapter_bytes

pytestmark = pytest.mark.slow

IGNORE = TrainingSettings(epochs=15, lr=5e-3, batch_size=4)
KTO = replace(IGNORE, rejections="kto")
REJECTED = [
    pair("Which command is used to show the files in a folder?", "dir /b", source="rejected", task="t1"),
    pair("Which command is used to print the text of a file?", "type con", source="rejected", task="t2"),
    pair("How are you?", "Ask the weather.", source="rejected", task="t3"),
]


@pytest.fixture(scope="module")
def plain(tmp_path_factory, tiny_checkpoint, command_pairs):
    """A run without rejected answers."""
    return trained(tmp_path_factory.mktemp("plain"), tiny_checkpoint, command_pairs, settings=IGNORE)


@pytest.fixture(scope="module")
def judged(tmp_path_factory, tiny_checkpoint, command_pairs):
    """A run that also learns from three rejected answers."""
    return trained(tmp_path_factory.mktemp("kto"), tiny_checkpoint, [*command_pairs, *REJECTED])


def trained(folder, checkpoint, pairs, *, settings=KTO, name="adapter", **more):
    return train(pairs, checkpoint=checkpoint, settings=settings, out=folder / name, **more)


def gains(checkpoint, adapter, pairs):
    """How many nats likelier each answer is with the adapter than without."""
    from peft import PeftModel

    from cipher_nb.training.gradients.kto import answer_logprobs
    from cipher_nb.training.qlora.load import load_base
    from cipher_nb.training.qlora.tokens import encode, load_tokenizer

    model = PeftModel.from_pretrained(load_base(checkpoint, quantised=False), adapter)
    samples = encode(pairs, load_tokenizer(checkpoint), max_tokens=1024).samples
    after = answer_logprobs(model.get_base_model(), samples, max_tokens=512)
    with model.disable_adapter():
        before = answer_logprobs(model.get_base_model(), samples, max_tokens=512)
    return [after[sample] - before[sample] for sample in samples]


def test_rejected_pairs_change_no_byte_unless_they_are_asked_for(tmp_path, tiny_checkpoint, command_pairs, plain):
    result = trained(tmp_path, tiny_checkpoint, [*REJECTED, *command_pairs], settings=IGNORE)
    assert adapter_bytes(result.adapter_dir) == adapter_bytes(plain.adapter_dir)
    assert (result.pair_ids, result.losses, result.notes) == (plain.pair_ids, plain.losses, ())


def test_asked_for_and_none_there_it_is_plain_training_and_said(tmp_path, tiny_checkpoint, command_pairs, plain):
    result = trained(tmp_path, tiny_checkpoint, command_pairs)
    assert adapter_bytes(result.adapter_dir) == adapter_bytes(plain.adapter_dir)
    assert result.notes == (NOTHING_REJECTED,)


def test_rejected_answers_become_less_likely_and_approved_ones_do_not(tiny_checkpoint, command_pairs, plain, judged):
    asked = [*command_pairs, *REJECTED]
    without, found = (gains(tiny_checkpoint, each.adapter_dir, asked) for each in (plain, judged))
    assert min(found[:12]) > 0
    assert max(found[12:]) < 0
    assert max(after - before for before, after in zip(without[12:], found[12:], strict=True)) < -2
    assert judged.pair_ids == tuple(pair.id for pair in asked)
    assert (judged.steps, judged.notes) == (plain.steps, ())


def test_a_run_that_was_stopped_in_between_comes_to_the_same_bytes(tmp_path, tiny_checkpoint, command_pairs, judged):
    pairs, steps = [*command_pairs, *REJECTED], []
    stopped = trained(
        tmp_path,
        tiny_checkpoint,
        pairs,
        keep_in=tmp_path / "kept",
        on_step=steps.append,
        should_stop=lambda: len(steps) >= 7,
    )
    again = trained(tmp_path, tiny_checkpoint, pairs, keep_in=tmp_path / "kept")
    assert (stopped.stopped, stopped.steps, again.resumed_at) == (True, 7, 7)
    assert adapter_bytes(again.adapter_dir) == adapter_bytes(judged.adapter_dir)
    assert again.losses == judged.losses


def test_a_run_is_not_gone_on_with_when_another_answer_was_rejected(tmp_path, tiny_checkpoint, command_pairs):
    steps = []
    trained(
        tmp_path,
        tiny_checkpoint,
        [*command_pairs, *REJECTED],
        keep_in=tmp_path / "kept",
        on_step=steps.append,
        should_stop=lambda: len(steps) >= 1,
    )
    other = trained(tmp_path, tiny_checkpoint, [*command_pairs, *REJECTED[:2]], keep_in=tmp_path / "kept")
    assert other.resumed_at == 0
    assert "data" in other.notes[-1]


def test_only_what_fits_and_was_not_learned_as_well_counts_as_learned_from(tmp_path, tiny_checkpoint, command_pairs):
    long = pair("x" * 900, "y" * 300, source="rejected")
    learned_too = replace(command_pairs[0], source="rejected")
    settings = replace(KTO, epochs=1)
    result = trained(tmp_path, tiny_checkpoint, [*command_pairs, long, learned_too, REJECTED[0]], settings=settings)
    assert result.pair_ids == tuple(pair.id for pair in (*command_pairs, REJECTED[0]))
    assert result.dropped_long == 1


def test_replay_is_neither_wanted_nor_rejected(tmp_path, tiny_checkpoint, command_pairs):
    replay = [replace(each, source="replay") for each in command_pairs]
    result = trained(tmp_path, tiny_checkpoint, [*replay, *REJECTED], settings=replace(KTO, epochs=1))
    assert result.notes == (NOTHING_REJECTED,)
    assert result.pair_ids == tuple(pair.id for pair in replay)
