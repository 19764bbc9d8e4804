from __future__ import annotations

import os
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from cipher_nb.config import SandboxSettings
from cipher_nb.sandbox import isolation
from cipher_nb.sandbox.checks import run_check
from cipher_nb.sandbox.outcome import CheckResult

SLEEPER = f"import time; time.sleep(61.{os.getpid()})"  # told apart from those of another run


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    folder = tmp_path / "copy"
    folder.mkdir()
    return folder


@pytest.fixture(params=["userns", "none"])
def held_by(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[str]:
    """Both kinds of isolation; "none" by a PATH without unshare."""
    if request.param == "none":
        monkeypatch.setenv("PATH", str(tmp_path))
    isolation.available.cache_clear()
    if isolation.available() != request.param:
        pytest.skip("user namespaces do not work on this machine")
    yield request.param
    isolation.available.cache_clear()


def check_python(code: str, copy: Path, **settings: object) -> CheckResult:
    (copy / "check.py").write_text(code)
    return run_check("python check.py", copy=copy, settings=SandboxSettings(**settings))


def sleepers() -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter():
        try:
            if SLEEPER in process.cmdline() and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except psutil.Error:
            continue
    return found


def gone(deadline_s: float = 3.0) -> bool:
    end = time.monotonic() + deadline_s
    while sleepers() and time.monotonic() < end:
        time.sleep(0.02)
    return not sleepers()


def test_a_check_that_ends_well_passed(copy, held_by):
    result = check_python("print('fine')", copy)
    assert (result.passed, result.exit_code, result.output) == (True, 0, "fine\n")
    assert (result.timed_out, result.isolation) == (False, held_by)


def test_exit_status_and_signals_are_told_apart(copy, held_by):
    assert check_python("raise SystemExit(3)", copy).exit_code == 3
    assert check_python("import os; os.kill(os.getpid(), 15)", copy).exit_code == 143


def test_a_copy_named_by_a_relative_path_is_the_same_copy(copy, monkeypatch, held_by):
    monkeypatch.chdir(copy.parent)
    (copy / "mine.py").write_text("")
    assert check_python("import mine; open('new', 'w')", Path("copy")).passed is True


def test_stdout_and_stderr_come_in_order(copy):
    result = check_python("import sys\nprint(1)\nprint(2, file=sys.stderr)\nprint(3)", copy)
    assert result.output == "1\n2\n3\n"


def test_a_missing_program_is_a_failed_check_that_says_so(copy, held_by):
    result = run_check("no-such-tool --fast", copy=copy, settings=SandboxSettings())
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
        "GIT_CEILING_DIRECTORIES",
        "HOME",
        "LANG",
        "PATH",
        "PYTHONDONTWRITEBYTECODE",
        "PYTHONPATH",
        "PYTHONUNBUFFERED",
        "TMPDIR",
    ]


def test_python_is_the_one_that_runs_us_and_home_is_thrown_away(copy):
    code = "import sys, pathlib\nprint(sys.prefix)\n(pathlib.Path.home() / 'x').touch()\nprint(pathlib.Path.home())"
    prefix, home = check_python(code, copy).output.splitlines()
    assert prefix == sys.prefix
    assert not Path(home).exists()


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
    result = check_python(code, copy, timeout_s=1.0)
    assert time.monotonic() - started < 3.0
    assert (result.passed, result.timed_out, result.exit_code) == (False, True, None)
    assert result.output == "started\n"
    assert gone()


def test_a_daemon_left_behind_by_a_passing_check_is_gone(copy, held_by):
    code = (
        "import subprocess, sys\n"
        f"subprocess.Popen([sys.executable, '-c', {SLEEPER!r}], start_new_session=True)\n"
        f"subprocess.Popen([sys.executable, '-c', {SLEEPER!r}])\n"
    )
    started = time.monotonic()
    assert check_python(code, copy).passed is True
    assert time.monotonic() - started < 3.0
    assert gone()


def test_huge_output_is_bounded_and_keeps_head_and_tail(copy):
    code = "print('first')\nfor _ in range(300): print('x' * 9999)\nprint('last')"
    output = check_python(code, copy, max_output_bytes=8_000).output
    assert len(output) < 8_100
    assert output.startswith("first\n")
    assert output.endswith("last\n")
    assert "2992011 bytes left out" in output


def test_too_much_memory_is_refused(copy, held_by):
    result = check_python("bytearray(600 * 2**20)", copy, max_memory_mb=512)
    assert result.passed is False
    assert "MemoryError" in result.output
    assert check_python("bytearray(600 * 2**20)", copy, max_memory_mb=0).passed is True


def need_user_namespaces() -> None:
    if isolation.available() != "userns":
        pytest.skip("user namespaces do not work on this machine")


def test_the_network_is_out_of_reach_and_the_loopback_is_not_ours(copy):
    need_user_namespaces()
    with socket.create_server(("127.0.0.1", 0)) as outside:
        port = outside.getsockname()[1]
        code = (
            "import socket\n"
            f"for address in (('127.0.0.1', {port}), ('1.1.1.1', 53)):\n"
            "    try: socket.create_connection(address, 2); print('reached')\n"
            "    except OSError as error: print(error.strerror)\n"
            "inside = socket.create_server(('127.0.0.1', 0))\n"
            "socket.create_connection(inside.getsockname()); print('own loopback works')\n"
        )
        output = check_python(code, copy).output
    assert output == "Connection refused\nNetwork is unreachable\nown loopback works\n"


def test_only_the_copy_and_the_own_temporary_folder_can_be_written(copy, tmp_path):
    need_user_namespaces()
    (tmp_path / "real.txt").write_text("real")
    places = [str(tmp_path / "real.txt"), "/etc/cipher-nb-test", str(copy / "in-copy")]
    code = (
        "import multiprocessing, tempfile\n"
        f"for place in {places!r}:\n"
        "    try: open(place, 'w'); print('written')\n"
        "    except OSError as error: print(error.strerror)\n"
        "tempfile.TemporaryFile(); multiprocessing.Lock(); print('temporary files work')\n"
    )
    result = check_python(code, copy)
    assert result.output == "Read-only file system\nRead-only file system\nwritten\ntemporary files work\n"
    assert (tmp_path / "real.txt").read_text() == "real"


@pytest.mark.parametrize("prefix", ["", "unshare --user --keep-caps --mount "])
def test_the_disk_cannot_be_made_writable_again(copy, tmp_path, prefix):
    need_user_namespaces()
    code = (
        "import ctypes, struct\n"
        "unlock = struct.pack('QQQQ', 0, 1, 0, 0)\n"  # mount_setattr: clear the read-only bit of the root
        "print(ctypes.CDLL(None).syscall(442, -100, b'/', 0, unlock, 32))\n"
        f"open({str(tmp_path / 'escaped')!r}, 'w')\n"
    )
    (copy / "check.py").write_text(code)
    result = run_check(f"{prefix}python check.py", copy=copy, settings=SandboxSettings())
    assert result.output.startswith("-1\n")
    assert "Read-only file system" in result.output
    assert not (tmp_path / "escaped").exists()


def test_other_processes_cannot_be_seen(copy):
    need_user_namespaces()
    assert check_python(f"import os; os.kill({os.getpid()}, 0)", copy).output.endswith("No such process\n")
