"""Two adapters on a real server, asked a look at a time."""

from __future__ import annotations

from pathlib import Path

import pytest

from cipher_nb.battery.evidence.looks import plan
from cipher_nb.battery.gate import GateReport, compare
from cipher_nb.engine.swap import BASE
from cipher_nb.night.comparing import Compared, Comparison
from cipher_nb.night.folder import NightFolder
from cipher_nb.night.idle import never
from cipher_nb.night.measure import night_servers
from cipher_nb.night.questions import questions
from cipher_nb.workspace import Workspace
from tests.adapter_files import write_adapter

pytestmark = [pytest.mark.model, pytest.mark.slow]

RANDOM = "ffff00000001"


def workspace(folder: Path, *, minutes: float) -> Workspace:
    ws = Workspace.init(folder / "ws")
    settings = f'categories = ["settings"]\nper_category = 64\nminutes = {minutes}\n'
    ws.paths.config.write_text(f"[battery]\n{settings}")
    adapter = write_adapter(folder / "random.gguf", name=RANDOM, seed=1)
    ws.registry.add(RANDOM, adapter, manifest={})
    return Workspace.open(ws.paths.root)


def against_base(ws: Workspace) -> tuple[GateReport, Compared]:
    folder = NightFolder(ws.paths.nights / "n1")
    folder.path.mkdir(parents=True)
    asked = questions(ws.config, ws.paths)
    adapters = {"production": BASE, "candidate": RANDOM}
    with night_servers(ws.parts, [RANDOM]) as model:
        found = Comparison(ws.parts, folder, model, adapters, asked, never).run()
    return compare(found.production, found.candidate, plan=plan(64), sizes=asked.sizes), found


def test_random_weights_are_a_regression(embedded_gguf: Path, tmp_path: Path) -> None:
    report, found = against_base(workspace(tmp_path, minutes=30))
    assert report.verdict == "REGRESSION"
    assert found.in_time
    assert found.spent["asked"] == found.spent["looks"][-1]["n"] <= found.spent["planned"] == 64
    assert [row.sample for row in found.production.rows] == [row.sample for row in found.candidate.rows]


def test_what_the_time_does_not_allow_stays_undecided(embedded_gguf: Path, tmp_path: Path) -> None:
    report, found = against_base(workspace(tmp_path, minutes=0.02))
    assert not found.in_time
    assert found.spent["asked"] < 64
    assert report.verdict in ("INCONCLUSIVE", "COULD_NOT_RUN")
