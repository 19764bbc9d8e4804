"""Running a night: real papermill, real kernels, small notebooks."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import psutil
import pytest
from filelock import FileLock

from cipher_nb.errors import ConfigError, NightBusyError
from cipher_nb.night.run import NightOutcome
from cipher_nb.report.page import write
from cipher_nb.workspace import Workspace
from tests.night.job_files import FINISH_ALL, OPEN, write_job

pytestmark = pytest.mark.slow

RUNNER = """
import sys
from pathlib import Path
from cipher_nb import Workspace
from cipher_nb.report.page import write
Workspace.open(sys.argv[1]).run_night(page=write, job=Path(sys.argv[2]))
"""


@pytest.fixture
def ws(tmp_path: Path) -> Workspace:
    return Workspace.init(tmp_path / "ws")


def run(ws: Workspace, *notebooks: tuple[str, str], when_idle: timedelta | None = None) -> NightOutcome:
    job = write_job(ws.paths.root / "jobs", *notebooks)
    return ws.run_night(page=write, job=job, when_idle=when_idle)


def test_a_night_whose_notebooks_leave_every_result_is_staged_and_has_a_page(ws: Workspace) -> None:
    outcome = run(ws, ("one", FINISH_ALL))
    assert outcome.status == "staged"
    assert outcome.headline.startswith("PROVEN: composite +0.10; adapter aaaa00000001 staged")
    assert Path(outcome.report).read_text().startswith("<!")
    assert (ws.nights()[0].path / "one.ipynb").exists()


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        ("1 / 0", "one.ipynb: ZeroDivisionError: division by zero"),
        ("import os; os._exit(0)", "one.ipynb: DeadKernelError"),
        ("print('done')", "one.ipynb ended without its result: collect, train"),
        ("import sys; sys.exit(0)", "one.ipynb"),
    ],
)
def test_a_notebook_that_fails_ends_the_night_with_the_reason_and_a_page(ws: Workspace, cell: str, words: str) -> None:
    outcome = run(ws, ("one", cell))
    assert outcome.status == "failed"
    assert words in outcome.headline
    assert Path(outcome.report).exists()
    assert [event.fields["source"] for event in ws.bus.read_state(type="error")] == ["night"]


def test_a_stage_is_judged_by_its_result_and_not_by_papermill(ws: Workspace) -> None:
    assert run(ws, ("one", FINISH_ALL + "import sys; sys.exit(0)")).status in ("staged", "failed")
    assert ws.nights()[0].unfinished() == ()


def test_a_notebook_past_its_time_is_ended_with_its_kernel(ws: Workspace) -> None:
    job = write_job(ws.paths.root / "jobs", ("one", "import time; time.sleep(600)"))
    job.write_text(job.read_text().replace("timeout_s = 60", "timeout_s = 8"))
    before = set(psutil.Process().children(recursive=True))
    outcome = ws.run_night(page=write, job=job)
    assert "it ran past its 8 s; raise timeout_s" in outcome.headline
    assert set(psutil.Process().children(recursive=True)) <= before


def test_too_little_to_learn_is_a_finished_night_that_says_so(ws: Workspace) -> None:
    nothing = OPEN + (
        'night.folder.finish("collect", {"sufficient": False, "reason": "0 new pairs, 8 are needed"})\n'
        'for name in ("train", "export", "battery", "gate", "stage", "changelog"):\n'
        "    night.folder.finish(name, {})\n"
    )
    outcome = run(ws, ("one", nothing))
    assert (outcome.status, outcome.headline) == ("nothing", "Nothing to learn: 0 new pairs, 8 are needed")


def test_an_operator_who_comes_back_stops_the_night_and_the_next_one_goes_on(ws: Workspace) -> None:
    stopped = OPEN + (
        "from cipher_nb.errors import NightStoppedError\n"
        'night.folder.finish("collect", {"sufficient": True})\n'
        'raise NightStoppedError("the operator came back")\n'
    )
    first = run(ws, ("one", stopped))
    assert (first.status, first.headline) == ("stopped", "Stopped: the operator came back")
    second = run(ws, ("one", FINISH_ALL))
    assert (second.run_id, second.status, second.resumed) == (first.run_id, "staged", True)


def test_a_finished_notebook_is_not_run_again(ws: Workspace) -> None:
    once = FINISH_ALL + 'open("ran", "a").write("x")\nraise RuntimeError("after the results")\n'
    assert run(ws, ("one", once), ("two", "1 / 0")).status == "failed"
    assert (ws.nights()[0].path / "ran").read_text() == "x"


def test_an_active_operator_is_left_alone(ws: Workspace) -> None:
    ws.bus.append("approval", tool="edit", pattern="x", summary="y")
    outcome = run(ws, ("one", FINISH_ALL), when_idle=timedelta(hours=2))
    assert outcome.status == "not-idle"
    assert ws.nights() == []


def test_one_night_at_a_time(ws: Workspace) -> None:
    with FileLock(ws.paths.night_lock), pytest.raises(NightBusyError, match="another night, or trials, run on"):
        run(ws, ("one", FINISH_ALL))
    assert ws.nights() == []


def test_an_unknown_parameter_begins_no_night(ws: Workspace) -> None:
    job = write_job(ws.paths.root / "jobs", ("one", FINISH_ALL))
    job.write_text(job.read_text() + "parameters = { sinc = 1 }\n")
    with pytest.raises(ConfigError, match="parameter 'sinc' is unknown"):
        ws.run_night(page=write, job=job)
    assert ws.nights() == []


def test_braces_in_the_path_do_not_confuse_papermill(tmp_path: Path) -> None:
    ws = Workspace.init(tmp_path / "a {b} c")
    assert run(ws, ("one", FINISH_ALL)).status == "staged"


def test_a_killed_night_leaves_no_kernel_and_is_taken_up_by_the_next(ws: Workspace) -> None:
    waiting = OPEN + (
        'night.folder.finish("collect", {"sufficient": True})\n'
        'import os, pathlib, time\npathlib.Path("pid").write_text(str(os.getpid()))\ntime.sleep(600)\n'
    )
    job = write_job(ws.paths.root / "jobs", ("one", waiting))
    night = subprocess.Popen([sys.executable, "-c", RUNNER, str(ws.paths.root), str(job)])
    _wait_for(lambda: any(path.read_text() for path in ws.paths.nights.glob("*/pid")), 60)
    kernel = psutil.Process(int((ws.nights()[0].path / "pid").read_text()))
    night.send_signal(signal.SIGKILL)
    night.wait()
    _wait_for(lambda: _has_ended(kernel), 60)
    outcome = run(ws, ("one", FINISH_ALL))
    assert (outcome.status, outcome.resumed) == ("staged", True)


def _has_ended(process: psutil.Process) -> bool:
    try:
        return process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def _wait_for(condition: Callable[[], bool], timeout_s: float) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.1)
