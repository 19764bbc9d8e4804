"""A battery that is killed half-way and taken up again, on real servers."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from cipher_nb.battery.results import read_results
from tests.battery.asking import samples

COUNT = 8
ROOT = Path(__file__).parents[2]


def ask(gguf: Path, folder: Path, *, until: int = 0) -> int:
    folder.mkdir(exist_ok=True)
    command = [sys.executable, "-m", "tests.battery.asking", str(gguf), str(folder), str(COUNT), str(until)]
    return subprocess.run(command, cwd=ROOT, stderr=subprocess.DEVNULL, timeout=600, check=False).returncode


def rows_on_disk(folder: Path) -> list[bytes]:
    path = folder / "results.jsonl"
    return [line for line in path.read_bytes().split(b"\n") if b'"sample"' in line] if path.exists() else []


@pytest.mark.slow
@pytest.mark.model
def test_killed_half_way_and_resumed_gives_the_same_rows_to_the_bit_and_asks_nothing_twice(
    embedded_gguf: Path, tmp_path: Path
) -> None:
    assert ask(embedded_gguf, tmp_path / "whole") == 0

    assert ask(embedded_gguf, tmp_path / "killed", until=9) == -signal.SIGKILL
    known = {row.sample for row in read_results(tmp_path / "killed" / "results.jsonl").rows}
    (tmp_path / "killed" / "asked.txt").unlink()
    assert ask(embedded_gguf, tmp_path / "killed") == 0

    asked_again = (tmp_path / "killed" / "asked.txt").read_text().splitlines()
    wanted = [repr(each.user_text) for each in samples(COUNT) if each.id not in known]
    assert sorted(asked_again) == sorted(wanted)
    assert len(known) == 9
    assert sorted(rows_on_disk(tmp_path / "killed")) == sorted(rows_on_disk(tmp_path / "whole"))
    assert len(rows_on_disk(tmp_path / "whole")) == 24
