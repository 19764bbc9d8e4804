from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from cipher_nb.config import SandboxSettings
from cipher_nb.sandbox.checks import isolation
from cipher_nb.sandbox.checks.run import run_check
from cipher_nb.sandbox.outcome import CheckResult
from tests.sandbox.processes import running, wait_until

pytestmark = pytest.mark.slow  # every test starts processes

SLEEPER = f"import time; time.sleep(61.{os.getpid()})"  # told apart from those of another run


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    folder = tmp_path / "copy"
    folder.mkdir()
    return folder


@pytest.fixture(params=isolation.KINDS)
def held_by(request: pytest.FixtureRequest) -> str:
    if not isolation.works(request.param):
        pytest.skip(f"{request.param} does not work on this machine")
    return request.param


def check_python(code: str, copy: Path, held_by: str | None = None, **settings: object) -> CheckResult:
    (copy / "check.py").write_text(code)
    return run_check("python check.py", copy=copy, settings=SandboxSettings(**settings), isolation=held_by)


def test_a_check_that_ends_well_passed(copy, held_by):
    result = check_python("print('fine')", copy, held_by)
    assert (result.passed, result.exit_code, result.output) == (True, 0, "fine\n")
    assert (result.timed_out, result.isolation) == (False, held_by)


def test_exit_status_and_signals_are_told_apart(copy, held_by):
    assert check_python("raise SystemExit(3)", copy, held_by).exit_code == 3
    assert check_python("import os; os.kill(os.getpid(), 15)", copy, held_by).exit_code == 143


def test_a_copy_named_by_a_relative_path_is_the_same_copy(copy, monkeypatch, held_by):
    monkeypatch.chdir(copy.parent)
    (copy / "mine.py").write_text("")
    assert check_python("import mine; open('new', 'w')", Path("copy"), held_by).passed is True


def test_stdout_and_stderr_come_in_order(copy):
    result = check_python("import sys\nprint(1)\nprint(2, file=sys.stderr)\nprint(3)", copy)
    assert result.output == "1\n2\n3\n"


def test_a_missing_program_is_a_failed_check_that_says_so(copy, held_by):
    result = run_check("no-such-tool --fast", copy=copy, settings=SandboxSettings(), isolation=held_by)
    assert (result.passed, result.exit_code) == (False, 127)
    assert "program 'no-such-tool' cannot be started: No such file or directory" in result.output


@pytest.mark.parametrize(("command", "words"), [("echo 'x", "No closing quotation"), ("  ", "empty command")])
def test_words_that_are_no_command_are_a_failed_check(copy, command, words):
    result = run_check(command, copy=copy, settings=SandboxSettings())
    assert result.passed is False
    assert words in result.output


def test_no_shell_reads_the_command(copy):
    result = run_check("python -c 'print(1)' ; touch hacked > out", copy=copy, settings=SandboxSettings())
    assert result.output == "1\n"
    assert list(copy.iterdir()) == []


def test_a_pipe_that_closes_early_is_no_error(copy):
    result = run_check("sh -c 'yes | head -n 1'", copy=copy, settings=SandboxSettings())
    assert (result.passed, result.output) == (True, "y\n")


def test_the_environment_holds_nothing_of_the_operators(copy, monkeypatch):
    monkeypatch.setenv("SECRET_TOKEN", "s3cret")
    monkeypatch.setenv("PYTEST_ADDOPTS", "--fail-please")
    lines = check_python("import os\nfor name in os.environ: print(name)", copy).output.split()
    assert sorted(lines) == [
        "CARGO_NET_OFFLINE",
        "GIT_CEILING_DIRECTORIES",
        "HOME",
        "LANG",
        "PATH",
        "PWD",
        "PYTHONDONTWRITEBYTECODE",
        "PYTHONPATH",
        "PYTHONUNBUFFERED",
        "TMPDIR",
    ]


def test_python_is_the_one_that_runs_us_and_home_is_thrown_away(copy):
    code = "import sys, pathlib\nprint(sys.prefix)\n(pathlib.Path.home() / 'x').touch()\nprint(pathlib.Path.home())"
    prefix, home = check_python(code, copy).output.splitlines()
    assert prefix == sys.prefix
    assert not Path(home, "x").exists()


def test_the_copys_own_package_is_tested_also_in_a_src_layout(copy):
    (copy / "src/cipher_nb").mkdir(parents=True)
    (copy / "src/cipher_nb/__init__.py").write_text("")
    result = check_python("import cipher_nb; print(cipher_nb.__file__)", copy)
    assert result.output == f"{copy}/src/cipher_nb/__init__.py\n"


def test_git_in_a_check_does_not_find_the_real_repository(project):
    copy = project / ".aide/sandboxes/t1"
    copy.mkdir(parents=True)
    result = run_check("git status", copy=copy, settings=SandboxSettings())
    assert (result.passed, "not a git repository" in result.output) == (False, True)


def test_a_check_that_sleeps_is_killed_with_its_children_in_time(copy, held_by):
    code = f"import subprocess, sys\nprint('started')\nsubprocess.run([sys.executable, '-c', {SLEEPER!r}])"
    started = time.monotonic()
    result = check_python(code, copy, held_by, timeout_s=3.0)
    assert time.monotonic() - started < 30.0
    assert (result.passed, result.timed_out, result.exit_code) == (False, True, None)
    assert result.output == "started\n"
    wait_until(lambda: running(SLEEPER) == [])


def test_a_daemon_left_behind_by_a_passing_check_is_gone(copy, held_by):
    code = (
        "import subprocess, sys\n"
        f"subprocess.Popen([sys.executable, '-c', {SLEEPER!r}], start_new_session=True)\n"
        f"subprocess.Popen([sys.executable, '-c', {SLEEPER!r}])\n"
    )
    started = time.monotonic()
    assert check_python(code, copy, held_by).passed is True
    assert time.monotonic() - started < 30.0
    assert running(SLEEPER) == []


def test_huge_output_is_bounded_and_keeps_head_and_tail(copy):
    code = "print('first')\nfor _ in range(300): print('x' * 9999)\nprint('last')"
    output = check_python(code, copy, max_output_bytes=8_000).output
    assert len(output) < 8_100
    assert output.startswith("first\n")
    assert output.endswith("last\n")
    assert "2992011 bytes left out" in output


def test_too_much_memory_is_refused(copy, held_by):
    result = check_python("bytearray(600 * 2**20)", copy, held_by, max_memory_mb=512)
    assert result.passed is False
    assert "MemoryError" in result.output
    assert check_python("bytearray(600 * 2**20)", copy, held_by, max_memory_mb=0).passed is True


def test_fetched_packages_and_toolchains_are_readable_and_credentials_are_not(project, tmp_path, monkeypatch, held_by):
    monkeypatch.setenv("HOME", str(tmp_path / "operator"))
    for place in ("operator/.cargo/registry", "operator/.rustup", "project/node_modules/dep"):
        (tmp_path / place).mkdir(parents=True)
        (tmp_path / place / "file").write_text("there")
    (tmp_path / "operator/.cargo/credentials.toml").write_text("token")
    copy = project / ".aide/sandboxes/t1"
    copy.mkdir(parents=True)
    code = (
        "import os\n"
        "for name in ('~/.cargo/registry/file', '~/.rustup/file', '../../../node_modules/dep/file'):\n"
        "    print(open(os.path.expanduser(name)).read())\n"
        "print(os.path.exists(os.path.expanduser('~/.cargo/credentials.toml')))\n"
    )
    assert check_python(code, copy, held_by).output == "there\nthere\nthere\nFalse\n"


def test_the_limit_that_ended_a_check_is_told(copy, held_by):
    command = "sh -c 'head -c 3000000 /dev/zero > big'"
    result = run_check(command, copy=copy, settings=SandboxSettings(max_file_mb=1), isolation=held_by)
    assert result.passed is False
    assert result.output.endswith("\nended: it wrote a file over 1 MB\n")


def test_processor_time_is_limited(copy, held_by):
    code = "import resource\nprint(resource.getrlimit(resource.RLIMIT_CPU))"
    assert check_python(code, copy, held_by, timeout_s=7.5).output == "(8, 9)\n"
