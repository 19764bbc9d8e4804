"""Memory and disk that run out: one clear line, and no half adapter."""

import os
import subprocess
import sys
from dataclasses import replace

import pytest

from cipher_nb.config import TrainingSettings
from cipher_nb.errors import TrainingError
from cipher_nb.training.qlora.train import train
from tests.training import runs
from tests.training.conftest import pair

SETTINGS = TrainingSettings(epochs=1, batch_size=4)
EVERY_BLOCK_COUNTS = {"MALLOC_ARENA_MAX": "1", "MALLOC_MMAP_THRESHOLD_": "65536"}  # none is taken from what was freed
LIMITED = """
import resource, sys
from pathlib import Path
from cipher_nb.config import TrainingSettings
from cipher_nb.errors import TrainingError
from cipher_nb.training.data.dataset import read_dataset
from cipher_nb.training.qlora.train import train

def limit(step):
    if step.number > 1:
        return
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + 10_000_000
    resource.setrlimit(resource.RLIMIT_AS, (most, most))

dataset, checkpoint, folder = map(Path, sys.argv[1:])
settings = TrainingSettings(epochs=2, batch_size=1, max_tokens=8_000, micro_batch_tokens=8_000)
try:
    train(read_dataset(dataset), checkpoint=checkpoint, settings=settings, out=folder / "adapter", on_step=limit)
except TrainingError as error:
    print(error)
"""


@pytest.mark.slow
def test_memory_that_runs_out_says_what_was_needed_and_what_to_change(tmp_path, tiny_checkpoint):
    dataset = runs.write_dataset(tmp_path / "dataset.jsonl", [pair("short?", "yes"), pair("long?", "y" * 7_000)])
    command = [sys.executable, "-c", LIMITED, str(dataset), str(tiny_checkpoint), str(tmp_path)]
    environment = {**os.environ, **EVERY_BLOCK_COUNTS}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.stdout.startswith("training ran out of memory ("), done.stderr
    assert done.stdout.endswith(
        "more were needed); lower [training] micro_batch_tokens = 8000 or max_tokens = 8000, "
        'or set load_in_4bit = "yes"\n'
    )
    assert not (tmp_path / "adapter").exists()


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 56 KiB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=56k", "tmpfs", str(disk)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("only root may mount a small file system")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


def test_a_disk_without_room_for_the_adapter_is_named_and_holds_no_half_of_one(
    small_disk, tiny_checkpoint, command_pairs
):
    out = small_disk / "adapter"
    expected = r"adapter_model.safetensors could not be written \(No space left on device; it takes 6\d,\d\d\d bytes\)"
    with pytest.raises(TrainingError, match=expected):
        train(command_pairs[:4], checkpoint=tiny_checkpoint, settings=SETTINGS, out=out)
    assert list(small_disk.iterdir()) == []


def test_a_run_that_cannot_be_kept_stops_with_the_reason_and_keeps_what_was_whole(
    small_disk, tmp_path, tiny_checkpoint, command_pairs
):
    settings = replace(SETTINGS, rank=1)  # one state fits, and two do not
    kept = small_disk / "kept"
    with pytest.raises(TrainingError, match=r"step-000002.safetensors could not be written \(No space left on device"):
        train(
            command_pairs,
            checkpoint=tiny_checkpoint,
            settings=settings,
            out=tmp_path / "adapter",
            keep_in=kept,
            keep_every_s=0,
        )
    assert sorted(path.name for path in kept.iterdir()) == ["manifest.json", "step-000001.safetensors"]
    assert not (tmp_path / "adapter").exists()
