import random
from pathlib import Path

import pytest

from cipher_nb.config import TrainingSettings
from cipher_nb.training.gradients.accumulate import FAMILIES, Stopped, accumulate_gradients, groups, why_plain
from cipher_nb.training.gradients.batches import Sample
from tests.tiny_models import VOCABULARY, tiny_model

pytestmark = pytest.mark.slow

WINDOW = 9
ODDITIES = {
    "gemma2": {"sliding_window": WINDOW, "attn_logit_softcapping": 0.01, "final_logit_softcapping": 0.5},
    "gemma3_text": {"sliding_window": WINDOW, "layers": 7},
    "mistral": {"sliding_window": WINDOW},
    "phi3": {"sliding_window": WINDOW},
    "qwen2": {"use_sliding_window": True, "sliding_window": WINDOW, "max_window_layers": 1},
}
"""What makes a family differ, with windows far smaller than the samples."""


@pytest.fixture(scope="module")
def samples():
    """Seven of 21 to 64 tokens; most share 40, some only 15 with these."""
    rng = random.Random(1)
    prefix = [rng.randrange(VOCABULARY) for _ in range(40)]
    starts = [prefix if number % 3 else prefix[:15] for number in range(7)]
    return [
        Sample((*start, *(rng.randrange(VOCABULARY) for _ in range(6 + 3 * number))), len(start) + 2)
        for number, start in enumerate(starts)
    ]


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    """A function from a family's name to the checkpoint of a tiny random model of it."""
    return lambda family: tiny_model(family, tmp_path_factory.mktemp(family), **ODDITIES.get(family, {}))


def adapted(checkpoint: Path, *, quantised: bool = False, double: bool = False):
    """A model whose adapter is not zero, so that gradients reach both of its sides."""
    import torch

    from cipher_nb.training.qlora.load import load_base, with_adapter

    base = load_base(checkpoint, quantised=quantised)
    torch.manual_seed(0)
    model = with_adapter(base.double() if double else base, TrainingSettings())
    for name, weight in model.named_parameters():
        if "lora_" in name and double:
            weight.data = weight.data.double()
        if "lora_B" in name:
            torch.nn.init.normal_(weight, std=0.05)
    return model.train()


def plain(model, samples):
    """The textbook computation: one sample at a time, transformers' own loss on labels."""
    import torch

    learned = sum(sample.response_tokens for sample in samples)
    loss = 0.0
    for sample in samples:
        ids = torch.tensor([sample.tokens])
        labels = ids.clone()
        labels[:, : sample.prompt_tokens] = -100
        part = model(input_ids=ids, labels=labels).loss * sample.response_tokens / learned
        part.backward()
        loss += float(part.detach())
    return loss, take_gradients(model)


def ours(model, samples, *, max_tokens):
    loss = accumulate_gradients(model.get_base_model(), samples, max_tokens=max_tokens)
    return loss, take_gradients(model)


def take_gradients(model):
    import torch

    flat = torch.cat([weight.grad.flatten() for weight in model.parameters() if weight.requires_grad])
    model.zero_grad()
    return flat


def assert_equal(found, expected, *, within):
    assert found[0] == pytest.approx(expected[0], rel=1e-6)
    assert float((found[1] - expected[1]).norm() / expected[1].norm()) < within


@pytest.mark.parametrize("family", FAMILIES)
def test_loss_and_gradients_of_every_family_are_those_of_one_sample_at_a_time(checkpoint, samples, family):
    from cipher_nb.training.gradients.memory import turn_on_checkpointing

    folder = checkpoint(family)
    model = adapted(folder)
    expected = plain(model, samples)
    assert why_plain(model.get_base_model()) == ""
    assert_equal(ours(model, samples, max_tokens=10_000), expected, within=1e-5)
    assert_equal(ours(model, samples, max_tokens=60), expected, within=1e-5)
    turn_on_checkpointing(model.get_base_model())
    assert_equal(ours(model, samples, max_tokens=60), expected, within=1e-5)
    # in float64 what is left is transformers' own float32 inside norms and loss
    exact = adapted(folder, double=True)
    assert_equal(ours(exact, samples, max_tokens=60), plain(exact, samples), within=3e-7)


@pytest.mark.parametrize("family", ["gemma2", "gemma3_text", "mistral", "phi3", "qwen2"])
def test_the_windows_of_these_models_do_cut_something_off(checkpoint, samples, family):
    model = adapted(checkpoint(family))
    narrow = plain(model, samples)
    for module in model.modules():
        if getattr(module, "sliding_window", None):
            module.sliding_window = None
    model.config.sliding_window = 4096
    wide = plain(model, samples)
    assert float((narrow[1] - wide[1]).norm() / wide[1].norm()) > 0.01


def test_gradients_on_an_nf4_base_are_those_of_one_sample_at_a_time(checkpoint, samples):
    import bitsandbytes
    import torch

    model = adapted(checkpoint("llama"), quantised=True)
    found, expected = ours(model, samples, max_tokens=60), plain(model, samples)
    assert found[0] == pytest.approx(expected[0], rel=1e-4)
    # a processor with instructions for bfloat16 computes in it, and rounds to three digits
    assert float((found[1] - expected[1]).norm() / expected[1].norm()) < 0.05
    model.float()
    for module in model.modules():
        if isinstance(module, bitsandbytes.nn.Linear4bit):
            module.compute_dtype = torch.float32
            module.weight.quant_state.dtype = torch.float32
    assert_equal(ours(model, samples, max_tokens=60), plain(model, samples), within=1e-5)


def test_an_unknown_family_is_computed_sample_by_sample_and_says_so(checkpoint, samples):
    model = adapted(checkpoint("olmo2"))
    causal_lm = model.get_base_model()
    assert why_plain(causal_lm).startswith("prefixes are not shared: 'olmo2' is none of gemma2, gemma3_text, llama")
    assert groups(causal_lm, samples, max_tokens=10_000) == [[sample] for sample in sorted(samples)]
    assert_equal(ours(model, samples, max_tokens=10_000), plain(model, samples), within=1e-5)


def test_attention_is_the_models_own_again_afterwards(checkpoint, samples):
    model = adapted(checkpoint("gemma2")).get_base_model()
    before = model.config._attn_implementation
    accumulate_gradients(model, samples, max_tokens=60)
    assert model.config._attn_implementation == before == "eager"


def test_a_step_is_left_between_two_micro_batches(checkpoint, samples):
    model = adapted(checkpoint("llama")).get_base_model()
    asked = []

    def should_stop():
        asked.append(1)
        return len(asked) == 2

    with pytest.raises(Stopped):
        accumulate_gradients(model, samples, max_tokens=60, should_stop=should_stop)
    assert len(asked) == 2


def test_rotations_that_depend_on_the_longest_sample_are_not_mixed(checkpoint, samples):
    model = adapted(checkpoint("llama")).get_base_model()
    assert [len(group) for group in groups(model, samples, max_tokens=10_000)] == [7]
    model.config.rope_parameters = {"rope_type": "dynamic", "original_max_position_embeddings": 60}
    assert max(len(group) for group in groups(model, samples, max_tokens=10_000)) < 4


@pytest.mark.slow
@pytest.mark.model
def test_gradients_on_the_embedded_model_are_those_of_one_sample_at_a_time(embedded_checkpoint, command_pairs):
    from cipher_nb.training.qlora.tokens import encode, load_tokenizer

    samples = encode(command_pairs[:4], load_tokenizer(embedded_checkpoint), max_tokens=1024).samples
    model = adapted(embedded_checkpoint)
    assert_equal(ours(model, samples, max_tokens=512), plain(model, samples), within=1e-5)
