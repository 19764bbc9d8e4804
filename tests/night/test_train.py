"""The train stage: it stops when the operator comes back, goes on at that step, and leaves nothing of the way there."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from cipher_nb import Workspace
from cipher_nb.errors import NightStoppedError, TrainingError
from cipher_nb.files import read_json
from cipher_nb.night.folder import NightFolder, new_night, take_up
from cipher_nb.report.page import write
from cipher_nb.training.qlora.loop import Step
from tests.night.job_files import FINISH_ALL, OPEN, write_job
from tests.tiny_models import tiny_model
from tests.training.conftest import COMMANDS, pair
from tests.training.runs import write_dataset


@pytest.fixture
def ws(tmp_path: Path) -> Workspace:
    ws = Workspace.init(tmp_path / "ws")
    base = tiny_model("llama", tmp_path / "tiny")
    ws.paths.config.write_text(f'[training]\nbase = "{base}"\nepochs = 3\nbatch_size = 4\nlr = 5e-3\n')
    return Workspace.open(ws.paths.root)


@pytest.fixture
def folder(ws: Workspace) -> NightFolder:
    folder = new_night(ws.paths.nights, ws.clock())
    write_dataset(folder.dataset, [pair(f"Which command is used to {what}?", name) for what, name in COMMANDS])
    return folder


@pytest.mark.slow
def test_the_operators_return_stops_the_training_and_the_same_night_goes_on_at_that_step(
    ws: Workspace, folder: NightFolder
) -> None:
    def come_back(step: Step) -> None:
        if step.number == 4:
            ws.bus.append("approval", tool="edit", pattern="is back", summary="")
            time.sleep(2.1)  # the bus is looked at every two seconds

    expected = "the operator came back during training; the next night goes on after step 4"
    with pytest.raises(NightStoppedError, match=expected):
        ws.night(folder.run_id, stop_when_active=True).train(on_step=come_back)
    assert not (folder.path / "adapter").exists()
    assert (folder.training / "step-000004.safetensors").exists()
    assert folder.unfinished()[1] == "train"

    take_up(folder, ws.clock())
    steps: list[Step] = []
    result = ws.night(folder.run_id, stop_when_active=True).train(on_step=steps.append)
    assert [step.number for step in steps] == [5, 6, 7, 8, 9]
    assert (result["steps"], result["resumed_at"], len(result["losses"])) == (9, 4, 9)
    assert not folder.training.exists()
    assert sorted(path.name for path in (folder.path / "adapter").iterdir()) == [
        "adapter_config.json",
        "adapter_model.safetensors",
    ]


def test_the_progress_tells_loss_and_speed(ws: Workspace, folder: NightFolder) -> None:
    ws.night(folder.run_id).train()
    seen = read_json(folder.progress)
    assert (seen["stage"], seen["done"], seen["total"]) == ("training", 9, 9)
    assert seen["note"].startswith("loss ")
    assert seen["note"].endswith(" tokens/s")


def test_what_a_run_was_kept_in_goes_even_if_the_night_was_killed_before_that(
    ws: Workspace, folder: NightFolder
) -> None:
    ws.night(folder.run_id).train()
    folder.training.mkdir()
    assert ws.night(folder.run_id).train()["steps"] == 9
    assert not folder.training.exists()


def test_a_training_that_failed_leaves_neither_adapter_nor_registry(ws: Workspace, folder: NightFolder) -> None:
    parts = ws.parts
    diverging = replace(parts.config.training, lr=1e30, warmup_share=0.0)
    night = replace(ws.night(folder.run_id), parts=replace(parts, config=replace(parts.config, training=diverging)))
    with pytest.raises(TrainingError, match="the loss is "):
        night.train()
    assert folder.result("train") is None
    assert not (folder.path / "adapter").exists()
    assert not ws.paths.adapters.exists()


def test_a_night_that_is_taken_up_keeps_the_time_it_began(ws: Workspace, folder: NightFolder) -> None:
    begun = read_json(folder.path / "begun.json")["ts"]
    take_up(folder, ws.clock() + timedelta(hours=3))
    row = read_json(folder.path / "begun.json")
    assert row["ts"] == begun
    assert 10_700 < row["taken_up"] - begun < 10_900


@pytest.mark.slow
def test_a_night_that_goes_on_is_not_stopped_again_by_what_stopped_it(tmp_path: Path) -> None:
    ws = Workspace.init(tmp_path / "ws")
    stopped = OPEN + (
        "from cipher_nb.errors import NightStoppedError\n"
        "night.folder.training.mkdir()\n"
        'night.parts.bus.append("approval", tool="edit", pattern="is back", summary="")\n'
        'raise NightStoppedError("the operator came back")\n'
    )
    goes_on = FINISH_ALL + (
        "night = Workspace.open(workspace).night(run_id, stop_when_active=True)\n"
        "assert not night._should_stop()()\n"
        "assert night.folder.training.is_dir()\n"
    )
    outcomes = []
    for cell in (stopped, goes_on):
        job = write_job(ws.paths.root / "jobs", ("one", cell))
        outcomes.append(ws.run_night(page=write, job=job, when_idle=timedelta(0)))
    assert [(outcome.status, outcome.resumed) for outcome in outcomes] == [("stopped", False), ("staged", True)]
    assert not ws.nights()[0].training.exists()
