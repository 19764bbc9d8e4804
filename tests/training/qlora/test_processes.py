"""Several processes train the adapter that one would; accelerate's launcher starts them."""

import json
import socket
from dataclasses import replace

import pytest

from tests.training import runs

pytestmark = pytest.mark.slow


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return str(listener.getsockname()[1])


def launched(command, *, processes):
    launcher = ["accelerate.commands.launch", "--multi_gpu", "--num_processes", str(processes)]
    options = ["--num_machines", "1", "--mixed_precision", "no", "--dynamo_backend", "no"]
    port = ["--main_process_port", free_port(), "-m", "cipher_nb.training"]
    started = runs.start([*launcher, *options, *port, *command])
    out, log = started.communicate(timeout=300)
    assert started.returncode == 0, log
    return json.loads(out), log


def tensors(folder):
    from safetensors.torch import load_file

    return load_file(folder / "adapter_model.safetensors")


@pytest.mark.parametrize("rejections", ["ignore", "kto"])
def test_two_processes_have_the_losses_and_the_adapter_of_one(tmp_path, tiny_checkpoint, command_pairs, rejections):
    rejected = [replace(pair, response="rm -rf", source="rejected") for pair in command_pairs[:3]]
    arguments = {}
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        arguments[name] = runs.arguments(
            tmp_path / name,
            [*command_pairs, *rejected],
            tiny_checkpoint,
            name="adapter",
            config=f'{runs.CONFIG}rejections = "{rejections}"\n',
        )
    one = json.loads(runs.start(["cipher_nb.training", *arguments["one"]]).communicate(timeout=300)[0])
    two, log = launched(arguments["two"], processes=2)
    assert len(one["losses"]) == 9
    assert len(one["pair_ids"]) == len(command_pairs) + (3 if rejections == "kto" else 0)
    assert two["losses"] == pytest.approx(one["losses"], abs=1e-5)
    alone, together = tensors(tmp_path / "one" / "adapter"), tensors(tmp_path / "two" / "adapter")
    assert list(alone) == list(together)
    assert max(float((alone[name] - together[name]).abs().max()) for name in alone) < 1e-5
    assert log.count("step 9 of 9") == 1
