"""A workspace with approved work and a file that stands for the model, and a study of it that asked nobody."""

from __future__ import annotations

import pytest

from cipher_nb.battery.families import sealed
from cipher_nb.battery.results import Results, Row
from cipher_nb.night.trials.data import base_replay, file_replay, freeze_new
from cipher_nb.night.trials.plan import Plan
from cipher_nb.night.trials.study import Study, asked_of
from cipher_nb.testing import ScriptedModel
from tests.night.trials.workspaces import small_workspace

CATEGORIES = ("keybindings", "settings", "command registry")
SCORES = {"keybindings": 0.1, "settings": 0.6, "command registry": 0.8}


@pytest.fixture
def ws(tmp_path):
    model = tmp_path / "model.gguf"
    model.write_bytes(b"GGUF, and no more of a model")
    return small_workspace(tmp_path / "ws", model=model, categories=CATEGORIES, practice_pairs=8)


@pytest.fixture
def study(ws):
    samples = tuple(sample for name in CATEGORIES for sample in sealed(name, 4, seed=7))
    rows = tuple(Row(sample.id, sample.category, sample.family, 1.0, sample.target) for sample in samples)
    frozen = freeze_new(ws.parts, ws.paths.trials / "pairs.json", scores=SCORES, asked=asked_of(ws.parts, samples))
    healthy = ["settings", "command registry"]
    asked = ScriptedModel(lambda messages: f"About {messages[-1]['content']}")
    replay = {
        "base": base_replay(ws.parts, asked, 10, healthy, on_progress=lambda *_: None),
        "file": file_replay(ws.parts, 10, healthy, path=ws.paths.trials / "replay-file.jsonl"),
    }
    return Study(ws.parts, Plan(), Results(None, rows), samples, frozen, replay, ())
