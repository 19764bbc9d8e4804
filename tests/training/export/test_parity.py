"""An adapter of every family answers on the server as it does in transformers, where it was trained."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cipher_nb.config import EngineSettings
from cipher_nb.engine import swap
from cipher_nb.engine.client import Client
from cipher_nb.engine.server import ServeSpec, serving
from cipher_nb.training.export import export_adapter
from tests.tiny_models import FAMILIES, SPECIAL, VOCABULARY, tiny_model
from tests.training.llama_cpp_script import random_adapter
from tests.training.whole_models import convert_models

pytestmark = pytest.mark.slow

WINDOWED = {"gemma2", "gemma3", "phi3"}
PROMPTS = [
    [random.Random(seed).randrange(len(SPECIAL), VOCABULARY) for _ in range(length)]
    for seed, length in enumerate((1, 5, 20, 60))
]


@pytest.fixture(scope="module")
def checkpoints(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A checkpoint of each family, the longer prompts wider than its sliding window, and `model.gguf` in it."""
    folder = tmp_path_factory.mktemp("families")
    made = {
        arch: tiny_model(arch, folder / arch, **({"sliding_window": 16} if arch in WINDOWED else {}))
        for arch in FAMILIES
    }
    convert_models({checkpoint: checkpoint / "model.gguf" for checkpoint in made.values()})
    return made


@pytest.fixture
def client(served: tuple[Path, str, Path], tmp_path: Path) -> Iterator[Client]:
    model, _, adapter = served
    spec = ServeSpec(
        model=model,
        alias="tiny",
        adapters=(adapter,),
        settings=EngineSettings(slots=1, context_tokens=256),
        slot_folder=tmp_path / "slots",
        log=tmp_path / "engine.log",
    )
    with serving(spec) as client:
        yield client


def log_probabilities(model: Any, prompt: list[int]) -> dict[int, float]:
    import torch

    with torch.inference_mode():
        scores = model(torch.tensor([prompt])).logits[0, -1].float().log_softmax(-1)
    return dict(enumerate(scores.tolist()))


@pytest.fixture(params=FAMILIES)
def served(request: pytest.FixtureRequest, checkpoints: dict[str, Path], tmp_path: Path) -> tuple[Path, str, Path]:
    """The model's file, the adapter's id and its file; peft's adapter lies in `tmp_path / "peft"`."""
    checkpoint = checkpoints[request.param]
    options = {"r": 4, "lora_alpha": 8, "target_modules": "all-linear", "task_type": "CAUSAL_LM"}
    random_adapter(checkpoint, tmp_path / "peft", **options)
    exported = export_adapter(tmp_path / "peft", base_gguf=checkpoint / "model.gguf", out_dir=tmp_path)
    return checkpoint / "model.gguf", exported.id, exported.path


def test_every_probability_is_that_of_transformers_with_and_without_the_adapter(
    client: Client, served: tuple[Path, str, Path], tmp_path: Path
) -> None:
    from peft import PeftModel
    from transformers import AutoModelForCausalLM

    model, adapter, _ = served
    base = AutoModelForCausalLM.from_pretrained(model.parent, attn_implementation="eager").eval()
    expected = {swap.BASE: [log_probabilities(base, prompt) for prompt in PROMPTS]}
    tuned = PeftModel.from_pretrained(base, tmp_path / "peft").eval()
    expected[adapter] = [log_probabilities(tuned, prompt) for prompt in PROMPTS]
    moved = max(abs(expected[adapter][-1][token] - expected[swap.BASE][-1][token]) for token in range(VOCABULARY))
    assert moved > 0.2
    for name in (swap.BASE, adapter, swap.BASE):
        swap.serve(client, name)
        for prompt, wanted in zip(PROMPTS, expected[name], strict=True):
            client.erase_slots()
            found = client.token_logprobs(prompt, top=VOCABULARY)
            apart = max(abs(found[token] - wanted[token]) for token in found)
            assert (len(found) > 200, apart < 0.02) == (True, True), f"{name}: {apart:.4f} nats at {len(prompt)} tokens"
