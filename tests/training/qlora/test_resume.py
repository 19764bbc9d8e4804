"""A run that was killed or stopped goes on where it was, to the bytes of one that was not."""

import json
import signal
import time
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from cipher_nb.bus import Bus
from cipher_nb.config import TrainingSettings
from cipher_nb.night.idle import returned_since
from cipher_nb.training.qlora.train import train
from cipher_nb.transcripts import Transcripts
from tests.training import runs
from tests.training.conftest import pair

pytestmark = pytest.mark.slow

SETTINGS = TrainingSettings(epochs=3, lr=5e-3, batch_size=4)


def trained(tmp_path, checkpoint, pairs, *, name="adapter", settings=SETTINGS, **more):
    return train(
        pairs,
        checkpoint=checkpoint,
        settings=settings,
        out=tmp_path / name,
        keep_in=tmp_path / "kept",
        keep_every_s=0,
        **more,
    )


def stopped_after(steps, tmp_path, checkpoint, pairs, **more):
    seen = []
    return trained(tmp_path, checkpoint, pairs, on_step=seen.append, should_stop=lambda: len(seen) >= steps, **more)


@pytest.mark.slow
def test_a_run_killed_three_times_ends_with_the_bytes_of_one_that_was_not(tmp_path, tiny_checkpoint, command_pairs):
    for name in ("whole", "killed"):
        (tmp_path / name).mkdir()
    command = runs.arguments(tmp_path / "whole", command_pairs, tiny_checkpoint, name="adapter")
    whole = runs.start(["cipher_nb.training", *command])
    losses = json.loads(whole.communicate(timeout=200)[0])["losses"]
    command = runs.arguments(tmp_path / "killed", command_pairs, tiny_checkpoint, name="adapter")
    for step, begins_at in ((2, 1), (5, 2), (8, 5)):
        child = runs.start(["tests.training.dying", str(step), *command])
        lines = [line for line in child.stderr if line.startswith("step ")]
        assert child.wait() == -signal.SIGKILL
        assert lines[0].startswith(f"step {begins_at} of 9"), "what was kept last is one step old"
        assert not (tmp_path / "killed" / "adapter").exists()
    result = json.loads(runs.start(["cipher_nb.training", *command]).communicate(timeout=200)[0])
    assert result["resumed_at"] == 7
    assert result["losses"] == losses
    assert runs.adapter_bytes(tmp_path / "killed" / "adapter") == runs.adapter_bytes(tmp_path / "whole" / "adapter")
    assert not (tmp_path / "killed" / "adapter.run").exists()


def test_a_stopped_run_goes_on_after_its_last_step(tmp_path, tiny_checkpoint, command_pairs):
    whole = trained(tmp_path / "other", tiny_checkpoint, command_pairs)
    first = stopped_after(4, tmp_path, tiny_checkpoint, command_pairs)
    assert (first.stopped, first.steps) == (True, 4)
    assert not (tmp_path / "adapter").exists()
    steps = []
    second = trained(tmp_path, tiny_checkpoint, command_pairs, on_step=steps.append)
    assert [step.number for step in steps] == [5, 6, 7, 8, 9]
    assert (second.resumed_at, second.notes, second.losses) == (4, (), whole.losses)
    assert (second.tokens, second.seconds > first.seconds) == (whole.tokens, True)
    assert runs.adapter_bytes(tmp_path / "adapter") == runs.adapter_bytes(tmp_path / "other" / "adapter")


def test_only_the_newest_state_is_kept_and_none_of_it_is_pickled(tmp_path, tiny_checkpoint, command_pairs):
    from safetensors import safe_open

    stopped_after(3, tmp_path, tiny_checkpoint, command_pairs)
    kept = tmp_path / "kept"
    assert sorted(path.name for path in kept.iterdir()) == ["manifest.json", "step-000003.safetensors"]
    with safe_open(kept / "step-000003.safetensors", "pt") as file:
        assert {name.split()[0] for name in file.keys()} == {"weight", "exp_avg", "exp_avg_sq", "step", "random"}  # noqa: SIM118


@pytest.mark.parametrize(
    ("settings", "pairs", "said"),
    [
        (replace(SETTINGS, lr=4e-3), slice(None), "it is of other settings"),
        (SETTINGS, slice(11), "it is of other data"),
        (replace(SETTINGS, load_in_4bit="yes"), slice(None), "it is of other settings, device"),
    ],
)
def test_a_state_of_another_run_is_not_used_and_that_is_said(
    tmp_path, tiny_checkpoint, command_pairs, settings, pairs, said
):
    stopped_after(2, tmp_path, tiny_checkpoint, command_pairs)
    result = stopped_after(1, tmp_path, tiny_checkpoint, command_pairs[pairs], settings=settings)
    assert result.resumed_at == 0
    assert result.notes == (f"an earlier state of the run was not gone on with: {said}",)


def test_a_state_of_another_base_or_library_is_not_used(tmp_path, tiny_checkpoint, command_pairs):
    stopped_after(2, tmp_path, tiny_checkpoint, command_pairs)
    manifest = tmp_path / "kept" / "manifest.json"
    row = json.loads(manifest.read_text())
    row["made_of"] |= {"base": "another", "libraries": "torch 1.0"}
    manifest.write_text(json.dumps(row))
    result = stopped_after(1, tmp_path, tiny_checkpoint, command_pairs)
    assert result.notes[0].endswith("was not gone on with: it is of other base, libraries")


@pytest.mark.parametrize("damage", ["cut state", "cut manifest", "no manifest", "no state", "no object"])
def test_a_torn_state_is_not_used(tmp_path, tiny_checkpoint, command_pairs, damage):
    stopped_after(2, tmp_path, tiny_checkpoint, command_pairs)
    manifest, state = tmp_path / "kept" / "manifest.json", tmp_path / "kept" / "step-000002.safetensors"
    if damage == "no object":
        manifest.write_text("[]")
    elif damage.startswith("cut"):
        path = state if damage.endswith("state") else manifest
        path.write_bytes(path.read_bytes()[:-40])
    else:
        (state if damage.endswith("state") else manifest).unlink()
    result = stopped_after(1, tmp_path, tiny_checkpoint, command_pairs)
    assert (result.resumed_at, result.steps) == (0, 1)
    assert result.notes[0].endswith("was not gone on with: it is torn")


def test_the_operators_return_stops_a_long_step_between_its_micro_batches(tmp_path, tiny_checkpoint, command_pairs):
    bus, transcripts = Bus(tmp_path / "bus.jsonl"), Transcripts(tmp_path / "transcripts.jsonl")
    returned = returned_since(bus, transcripts, datetime.now(UTC), every_s=0.0)
    many = [pair(f"{number}? " + "x" * 300, "y" * 100) for number in range(60)]
    settings = replace(SETTINGS, epochs=1, batch_size=59, warmup_share=0.0, micro_batch_tokens=512)
    asked = []

    def should_stop():
        asked.append(time.monotonic())
        if len(asked) == 70:  # in the middle of the second step
            bus.append("approval", tool="edit", pattern="is back", summary="")
        return returned()

    result = trained(tmp_path, tiny_checkpoint, many * 2, settings=settings, should_stop=should_stop)
    assert (result.stopped, result.steps) == (True, 1)
    assert len(asked) == 70
    again = trained(tmp_path, tiny_checkpoint, many * 2, settings=settings)
    assert (again.resumed_at, again.steps) == (1, 3)
