import json
import subprocess
import sys
from dataclasses import replace

import pytest

from cipher_nb.config import TrainingSettings
from cipher_nb.errors import TrainingError
from cipher_nb.training.gradients.memory import measure_cost, plan_memory
from tests.tiny_models import tiny_model

SETTINGS = TrainingSettings(micro_batch_tokens=4096)


@pytest.fixture(scope="module")
def causal_lm(tmp_path_factory):
    from cipher_nb.training.qlora.load import load_base, with_adapter

    folder = tiny_model("llama", tmp_path_factory.mktemp("llama"), layers=6)
    return with_adapter(load_base(folder, quantised=False), SETTINGS).get_base_model()


def limited(causal_lm, *, above, longest=1500):
    """The plan under a limit so many bytes above what this process holds."""
    import psutil

    limit = (psutil.Process().memory_info().rss + above) / 10**9
    return plan_memory(causal_lm, longest=longest, settings=replace(SETTINGS, max_memory_gb=limit))


def test_with_room_enough_nothing_is_changed(causal_lm):
    plan = plan_memory(causal_lm, longest=1000, settings=SETTINGS)
    assert (plan.micro_batch_tokens, plan.checkpointing, plan.notes) == (4096, False, ())
    assert plan.bytes_needed < plan.bytes_allowed


def test_where_memory_is_short_checkpointing_comes_before_smaller_micro_batches(causal_lm):
    cost = measure_cost(causal_lm)
    plan = limited(causal_lm, above=cost.bytes(4096, checkpointing=True) + 20_000_000)
    assert (plan.micro_batch_tokens, plan.checkpointing) == (4096, True)
    assert plan.bytes_needed <= plan.bytes_allowed
    assert [note.partition(":")[0] for note in plan.notes] == ["gradient checkpointing is on"]
    smaller = limited(causal_lm, above=cost.bytes(2500, checkpointing=True))
    assert smaller.checkpointing
    assert 1500 <= smaller.micro_batch_tokens < 4096
    assert smaller.bytes_needed <= smaller.bytes_allowed
    assert smaller.notes[1] == f"micro-batches hold {smaller.micro_batch_tokens} tokens instead of 4096"


def test_a_sample_that_does_not_fit_is_refused_with_both_numbers_and_the_way_out(causal_lm):
    with pytest.raises(
        TrainingError,
        match=r"a sample of 9000 tokens takes [\d,]+ bytes even with gradient checkpointing, and [\d,]+ are allowed; "
        r'lower \[training\] max_tokens = 1024, set load_in_4bit = "yes", or raise max_memory_gb = ',
    ):
        limited(causal_lm, above=20_000_000, longest=9000)


def step(checkpoint, tokens, *more):
    """What a step took in a process of its own, and what was estimated."""
    command = [sys.executable, "-m", "tests.training.measure_step", str(checkpoint), str(tokens), *more]
    out = subprocess.run(command, check=True, capture_output=True, text=True, timeout=300).stdout
    return json.loads(out.splitlines()[-1])


@pytest.mark.slow
@pytest.mark.parametrize("family", ["llama", "gemma2"])
def test_a_step_takes_no_more_memory_than_estimated_and_not_much_less(tmp_path, family):
    folder = tiny_model(family, tmp_path, layers=6, hidden=256, intermediate=768, heads=8, kv_heads=4)
    for more in ((), ("--checkpointing",)):
        found = step(folder, 2000, *more)
        assert 0.6 * found["estimate"] < found["taken"] <= found["estimate"], more


@pytest.mark.slow
def test_eight_thousand_tokens_take_less_than_a_mask_of_them_would(tmp_path):
    folder = tiny_model("phi3", tmp_path, sliding_window=100, max_position_embeddings=16_384)
    found = step(folder, 8192, "--checkpointing")
    assert found["taken"] <= found["estimate"]
    assert found["taken"] < 4 * 8192**2
