"""A battery that is killed half-way and taken up again, on real servers."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cipher_nb.battery.results import read_results
from tests.battery.asking import samples

COUNT = 8
ROOT = Path(__file__).parents[2]


def asking(gguf: Path, folder: Path) -> subprocess.Popen[bytes]:
    folder.mkdir(exist_ok=True)
    command = [sys.executable, "-m", "tests.battery.asking", str(gguf), str(folder), str(COUNT)]
    return subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL)


def rows_on_disk(folder: Path) -> list[bytes]:
    path = folder / "results.jsonl"
    return [line for line in path.read_bytes().split(b"\n") if b'"sample"' in line] if path.exists() else []


@pytest.mark.slow
@pytest.mark.model
def test_killed_half_way_and_resumed_gives_the_same_rows_to_the_bit_and_asks_nothing_twice(
    embedded_gguf: Path, tmp_path: Path
) -> None:
    assert asking(embedded_gguf, tmp_path / "whole").wait(300) == 0

    killed = asking(embedded_gguf, tmp_path / "killed")
    while len(rows_on_disk(tmp_path / "killed")) < 9:
        time.sleep(0.01)
        assert killed.poll() is None
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    known = {row.sample for row in read_results(tmp_path / "killed" / "results.jsonl").rows}
    (tmp_path / "killed" / "asked.txt").unlink()
    assert asking(embedded_gguf, tmp_path / "killed").wait(300) == 0

    asked_again = (tmp_path / "killed" / "asked.txt").read_text().splitlines()
    wanted = [repr(each.user_text) for each in samples(COUNT) if each.id not in known]
    assert sorted(asked_again) == sorted(wanted)
    assert 9 <= len(known) < 24
    assert sorted(rows_on_disk(tmp_path / "killed")) == sorted(rows_on_disk(tmp_path / "whole"))
    assert len(rows_on_disk(tmp_path / "whole")) == 24
