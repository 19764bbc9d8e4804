import json
from dataclasses import replace

import pytest

from cipher_nb.config import TrainingSettings
from cipher_nb.errors import ConfigError, TrainingError
from cipher_nb.training.qlora.train import train
from tests.training.conftest import pair

SETTINGS = TrainingSettings(epochs=3, lr=5e-3, batch_size=4)


def trained(tmp_path, checkpoint, pairs, *, name="adapter", settings=SETTINGS, **more):
    return train(pairs, checkpoint=checkpoint, settings=settings, out=tmp_path / name, **more)


def test_the_loss_falls_and_every_step_is_reported(tmp_path, tiny_checkpoint, command_pairs):
    steps = []
    result = trained(tmp_path, tiny_checkpoint, command_pairs, on_step=steps.append)
    assert [step.number for step in steps] == [1, 2, 3, 4, 5, 6, 7, 8, 9]
    assert {step.total for step in steps} == {9}
    assert result.losses == tuple(step.loss for step in steps)
    assert result.losses[-1] < result.losses[0] - 0.15
    assert result.tokens == sum(step.tokens for step in steps) > 1000
    assert (result.steps, result.quantised, result.stopped, result.dropped_long) == (9, False, False, 0)
    assert result.pair_ids == tuple(pair.id for pair in command_pairs)


@pytest.mark.slow
def test_the_same_seed_and_data_give_the_same_bytes_and_another_seed_others(tmp_path, tiny_checkpoint, command_pairs):
    import torch

    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        torch.rand(1)
        trained(tmp_path, tiny_checkpoint, command_pairs, name=name, settings=replace(SETTINGS, seed=seed))
    files = ("adapter_model.safetensors", "adapter_config.json")
    one, again, other = ([(tmp_path / name / file).read_bytes() for file in files] for name in "abc")
    assert one == again
    assert one[0] != other[0]


def test_the_adapter_is_what_peft_loads_and_names_no_local_path(tmp_path, tiny_checkpoint, command_pairs):
    from peft import PeftModel

    from cipher_nb.training.qlora.load import load_base

    trained(tmp_path, tiny_checkpoint, command_pairs)
    model = PeftModel.from_pretrained(load_base(tiny_checkpoint, quantised=False), tmp_path / "adapter")
    config = json.loads((tmp_path / "adapter" / "adapter_config.json").read_text())
    assert model.peft_config["default"].r == 8
    assert len(config["target_modules"]) == 14
    assert config["target_modules"][0] == "model.layers.0.mlp.down_proj"
    assert str(tiny_checkpoint.parent) not in json.dumps(config)


def test_the_end_of_turn_is_learned_only_where_the_answer_ended(tiny_checkpoint):
    from cipher_nb.training.qlora.tokens import encode_pair, load_tokenizer

    tokenizer = load_tokenizer(tiny_checkpoint)
    whole, cut = (encode_pair(pair("q", "ab", finished=finished), tokenizer) for finished in (True, False))
    assert whole.tokens == (*cut.tokens, tokenizer.eos_token_id)
    assert (whole.response_tokens, cut.response_tokens) == (3, 2)
    assert tokenizer.decode(whole.tokens[: whole.prompt_tokens]).endswith(
        "<|im_start|>user\nq<|im_end|>\n<|im_start|>assistant\n"
    )


def test_pairs_that_are_too_long_are_left_out_and_counted(tmp_path, tiny_checkpoint, command_pairs):
    pairs = [*command_pairs[:3], pair("x" * 900, "y" * 300)]
    result = trained(tmp_path, tiny_checkpoint, pairs)
    assert (result.dropped_long, result.pair_ids) == (1, tuple(pair.id for pair in command_pairs[:3]))
    with pytest.raises(TrainingError, match="none of 1 pairs fits max_tokens = 1024"):
        trained(tmp_path, tiny_checkpoint, pairs[3:])


def test_a_run_that_is_told_to_stop_writes_no_adapter(tmp_path, tiny_checkpoint, command_pairs):
    steps = []
    result = trained(
        tmp_path, tiny_checkpoint, command_pairs, on_step=steps.append, should_stop=lambda: len(steps) >= 2
    )
    assert (result.stopped, result.steps) == (True, 2)
    assert not (tmp_path / "adapter").exists()


def test_a_loss_that_is_no_number_names_the_step(tmp_path, tiny_checkpoint, command_pairs):
    with pytest.raises(TrainingError, match=r"the loss is (nan|inf) at step 2 of 9; lower \[training\] lr"):
        trained(tmp_path, tiny_checkpoint, command_pairs, settings=replace(SETTINGS, lr=1e30, warmup_share=0.0))
    assert not (tmp_path / "adapter").exists()


def test_settings_that_train_nothing_are_refused(tmp_path, tiny_checkpoint, command_pairs):
    with pytest.raises(ConfigError, match=r"\[training\] lr = 0.0 must be above 0; the default is 0.0005"):
        trained(tmp_path, tiny_checkpoint, command_pairs, settings=replace(SETTINGS, lr=0.0))


def test_a_folder_that_is_no_checkpoint_is_named(tmp_path, command_pairs):
    with pytest.raises(TrainingError, match="has no usable tokenizer"):
        trained(tmp_path, tmp_path / "nowhere", command_pairs)


def test_training_leaves_the_callers_random_state_alone(tmp_path, tiny_checkpoint, command_pairs):
    import torch

    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    trained(tmp_path, tiny_checkpoint, command_pairs[:4])
    assert torch.equal(torch.rand(3), expected)


@pytest.mark.slow
def test_nf4_with_double_quantisation_trains_on_this_machine(tmp_path, tiny_checkpoint, command_pairs):
    import bitsandbytes

    from cipher_nb.training.qlora.load import load_base

    weight = load_base(tiny_checkpoint, quantised=True).model.layers[0].mlp.up_proj.weight
    assert isinstance(weight, bitsandbytes.nn.Params4bit)
    assert (weight.quant_state.quant_type, weight.quant_state.nested) == ("nf4", True)
    settings = replace(SETTINGS, load_in_4bit="yes")
    result = trained(tmp_path, tiny_checkpoint, command_pairs, settings=settings)
    assert result.quantised is True
    assert result.losses[-1] < result.losses[0] - 0.15
    again = trained(tmp_path, tiny_checkpoint, command_pairs, settings=settings, name="again")
    assert again.losses == result.losses
