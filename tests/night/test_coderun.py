"""Code of an answer, run for real in the sandbox of this machine."""

import tempfile
import time
from pathlib import Path

import pytest

from cipher_nb.config import SandboxSettings
from cipher_nb.night.coderun import code_runner
from cipher_nb.sandbox.checks.isolation import available

pytestmark = pytest.mark.skipif(available() == "none", reason="nothing holds a program in on this machine")

RUN = code_runner(SandboxSettings())


def test_a_program_that_comes_to_its_end_is_true():
    assert RUN("def double(x):\n    return 2 * x\nassert double(4) == 8\nassert __name__ == '__main__'") is True


@pytest.mark.parametrize(
    "program",
    ["assert 1 == 2", "def f(:", "raise SystemExit(0)", "import os; os._exit(0)", "print('\\ud800')", "x" * 100_000],
)
def test_a_program_that_fails_or_leaves_early_is_false(program):
    assert RUN(program) is False


def test_a_program_may_print_whatever_it_likes():
    assert RUN("import sys\nfor n in range(20_000): print(n)\nsys.stdout = None\nassert True") is True


@pytest.mark.slow
def test_an_endless_loop_is_ended_and_false():
    started = time.monotonic()
    assert RUN("while True: pass") is False
    assert time.monotonic() - started < 20


def test_the_home_and_other_folders_are_out_of_sight(tmp_path):
    secret = tmp_path / "secret.txt"
    secret.write_text("s")
    assert RUN(f"import os\nassert os.path.exists({str(secret)!r})") is False
    with tempfile.NamedTemporaryFile(dir=Path.home(), prefix=".cipher-test-") as private:
        assert RUN(f"import os\nassert os.path.exists({private.name!r})") is False


def test_there_is_no_network():
    assert RUN("import socket\nsocket.create_connection(('127.0.0.1', 80))") is False
    assert RUN("import socket\nassert socket.if_nameindex() == [(1, 'lo')]") is True


def test_nothing_runs_where_nothing_holds_it_in():
    assert code_runner(SandboxSettings(), isolation="none")("x = 1") is None


def test_a_program_that_was_not_begun_is_unscored(tmp_path, monkeypatch):
    broken = tmp_path / "unshare"
    broken.write_text("#!/bin/sh\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    run_code = code_runner(SandboxSettings(), isolation="userns")
    assert run_code("x = 1") is None
    broken.unlink()
    assert run_code("x = 1") is None
