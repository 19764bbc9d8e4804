"""The demo's week and a small real night on it: trained, exported, measured, judged, applied and rolled back."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from cipher_nb.adapters import changelog as changelogs
from cipher_nb.demo.run import live_week
from cipher_nb.engine import daemon
from cipher_nb.files import read_json
from cipher_nb.jsonl import read_lines
from cipher_nb.workspace import Workspace

pytestmark = [pytest.mark.model, pytest.mark.slow]

SMALL = """
fail_below = 1.0
[training]
epochs = 1
"""


@pytest.fixture(scope="module")
def ws(embedded_gguf: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    """The week as it was lived, with a battery and a training small enough for a test."""
    ws = live_week(tmp_path_factory.mktemp("demo") / "shelf", say=print)
    text = ws.paths.config.read_text().replace("per_category = 64", "per_category = 8")
    ws.paths.config.write_text(text.replace("\npractice_pairs = 64", "\npractice_pairs = 16") + SMALL)
    ws = Workspace.open(ws.paths.root)
    yield ws
    running = daemon.find(ws.paths.engine)
    if running:
        daemon.retire(running, ws.paths.engine)


def night(ws: Workspace) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "cipher_nb.cli", "night", "--since", "168h", "--json"]
    return subprocess.Popen(command, cwd=ws.paths.root, stdout=subprocess.PIPE, text=True)


def outcome_of(process: subprocess.Popen[str]) -> dict[str, Any]:
    out, _ = process.communicate(timeout=1500)
    return dict(json.loads(out))


@pytest.fixture(scope="module")
def outcome(ws: Workspace) -> dict[str, Any]:
    """How the night ended that took up the one killed in the middle of its training."""
    killed = night(ws)
    training = _training_folder(ws)
    family = psutil.Process(killed.pid).children(recursive=True)
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    _, alive = psutil.wait_procs(family, timeout=60)
    assert [process.pid for process in alive] == []
    assert ws.registry.state().production == "base"
    assert ws.registry.state().staged == ""
    done = outcome_of(night(ws))
    assert (done["run_id"], done["resumed"]) == (training.name, True)
    return done


def _training_folder(ws: Workspace) -> Path:
    deadline = time.monotonic() + 900
    while time.monotonic() < deadline:
        for path in ws.paths.nights.glob("*/progress.json"):
            seen = read_json(path)
            if seen["stage"] == "training" and seen["done"] >= 1:
                return path.parent
        time.sleep(0.05)
    raise AssertionError("the night never came to its training")


def test_the_week_is_on_the_bus_in_git_and_in_the_transcripts(ws: Workspace) -> None:
    counts = {kind: len(ws.bus.read_state(type=kind)) for kind in ("approval", "rejection", "ship")}
    assert counts == {"approval": 10, "rejection": 2, "ship": 10}
    log = subprocess.run(["git", "log", "--oneline"], cwd=ws.paths.root, capture_output=True, text=True, check=True)
    assert len(log.stdout.splitlines()) == 11
    assert [line.line for line in ws.learned()] == [
        "[learned] Uses pathlib instead of os.path",
        "[learned] Prefers built-ins and comprehensions to loops",
        "[learned] Errors name the bad value",
    ]
    kinds = [turn.kind for turn in ws.transcripts.read()]
    assert (kinds.count("chat"), kinds.count("proposal")) == (3, 18)


def test_the_lived_repository_passes_its_own_tests(ws: Workspace) -> None:
    done = subprocess.run([sys.executable, "-m", "pytest", "-q"], cwd=ws.paths.root, capture_output=True, check=False)
    assert done.returncode == 0


def test_the_night_ends_with_a_verdict_an_adapter_and_a_page(ws: Workspace, outcome: dict[str, Any]) -> None:
    folder = ws.nights()[0]
    assert outcome["status"] in ("staged", "archived")
    assert folder.unfinished() == ()
    assert Path(outcome["report"]).read_text(encoding="utf-8").startswith("<!")
    collected = folder.require("collect")
    assert (collected["new_pairs"], collected["kept_pairs"]) == (10, 10)
    assert collected["practice_pairs"] > 0
    assert collected["replay_pairs"] == pytest.approx(0.3 * collected["total"], abs=1)


def test_the_adapter_says_what_it_was_made_of(ws: Workspace, outcome: dict[str, Any]) -> None:
    adapter = ws.nights()[0].require("export")["adapter"]
    manifest = ws.registry.manifest(adapter)
    approved = [pair for pair in manifest["pairs"] if pair["source"] == "approved"]
    on_bus = {event.id for event in ws.bus.read_state()}
    assert len(approved) == 10
    assert all(set(pair["event_ids"]) <= on_bus and pair["event_ids"] for pair in approved)
    assert manifest["losses"][-1] < manifest["losses"][0]


def test_apply_changes_the_answers_and_rollback_gives_them_back(ws: Workspace, outcome: dict[str, Any]) -> None:
    log = ws.changelog()
    if log is None:  # this small night was archived: put its adapter forward all the same
        row = ws.nights()[0].require("changelog")
        names = set(changelogs.Changelog.__dataclass_fields__)
        log = changelogs.Changelog(**{key: value for key, value in row.items() if key in names} | {"status": "pending"})
        ws.registry.stage(log.adapter)
        changelogs.publish(ws.paths.changelog, log)
    canary = ws.registry.canary(log.adapter)
    assert canary is not None
    assert canary.answers["base"] != canary.answers[log.adapter]
    decision = ws.decide("apply", log.ref, confirmed=True)
    assert (decision.status, decision.proof and decision.proof.canary) == ("done", "as recorded")
    with ws.engine() as client:
        assert [(each.name, each.scale) for each in client.adapters()] == [(log.adapter, 1.0)]
    rolled_back = ws.decide("rollback")
    assert (rolled_back.status, rolled_back.proof and rolled_back.proof.canary) == ("done", "as recorded")
    assert [row["action"] for row in read_lines(ws.paths.audit)] == ["apply", "apply", "rollback", "rollback"]


def test_the_same_dataset_is_not_trained_on_twice(ws: Workspace, outcome: dict[str, Any]) -> None:
    again = outcome_of(night(ws))
    assert again["status"] == "nothing"
    assert again["headline"].startswith("Nothing to learn: nothing new: the dataset is that of night")
    assert Path(again["report"]).exists()
