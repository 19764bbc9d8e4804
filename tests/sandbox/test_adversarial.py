"""What a check that means harm cannot do. Attacks are scaled down, and their traffic stays on the loopback."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from cipher_nb.config import SandboxSettings
from cipher_nb.sandbox.checks import isolation
from cipher_nb.sandbox.checks.run import run_check
from cipher_nb.sandbox.outcome import CheckResult
from cipher_nb.sandbox.scratch import make_copy
from tests.sandbox.conftest import TEST, git
from tests.sandbox.processes import running, wait_until

pytestmark = pytest.mark.slow

Attack = Callable[..., CheckResult]
TRY = """\
def attempt(what):
    try:
        print(what())
    except BaseException as error:
        print(type(error).__name__)
"""
RUN_CHECK = """\
from functools import partial
from pathlib import Path
from cipher_nb.config import SandboxSettings
from cipher_nb.sandbox.checks.run import run_check
run = partial(run_check, settings=SandboxSettings())
"""


@pytest.fixture
def copy(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A scratch copy in the place where tasks have it, with an operator whose home and environment hold secrets."""
    home = tmp_path / "operator"
    (home / ".ssh").mkdir(parents=True)
    (home / ".ssh/id_ed25519").write_text("the key")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("SECRET_TOKEN", "hunter2-in-the-environment")
    folder = project / ".aide/sandboxes/t1"
    make_copy(project, folder)
    return folder


@pytest.fixture(params=isolation.KINDS)
def limited(request: pytest.FixtureRequest, copy: Path) -> Attack:
    """Run Python code as a check, under each kind of isolation that works here."""
    return attack_under(request.param, copy)


@pytest.fixture(params=[kind for kind in isolation.KINDS if kind != "none"])
def contained(request: pytest.FixtureRequest, copy: Path) -> Attack:
    """The same under the kinds that hold a check in."""
    return attack_under(request.param, copy)


def attack_under(kind: str, copy: Path) -> Attack:
    if not isolation.works(kind):
        pytest.skip(f"{kind} does not work on this machine")

    def attack(code: str, *, command: str = "python attack.py", **settings: object) -> CheckResult:
        (copy / "attack.py").write_text(TRY + code)
        return run_check(
            command, copy=copy, settings=SandboxSettings(**{"timeout_s": 20.0, **settings}), isolation=kind
        )

    return attack


def run_by_python_of_workspace(command: str, *venv_options: str, copy: Path, kind: str) -> str:
    """Return what a check prints that is run by a virtual environment in the workspace of `copy`."""
    place = copy.parents[2] / ".venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", *venv_options, str(place)], check=True)
    code = f"{RUN_CHECK}print(run({command!r}, copy=Path({str(copy)!r}), isolation={kind!r}).output)"
    packages = os.pathsep.join((str(Path(isolation.__file__).parents[2]), str(Path(pytest.__file__).parents[1])))
    environment = {**os.environ, "PYTHONPATH": packages}
    return subprocess.run([place / "bin/python", "-c", code], env=environment, capture_output=True, text=True).stdout


@pytest.fixture
def victim() -> Iterator[subprocess.Popen[bytes]]:
    """A process of the operator's."""
    process = subprocess.Popen(["sleep", "60"])
    yield process
    process.kill()
    process.wait()


def test_files_outside_are_not_written_by_their_path(contained, project, tmp_path):
    mine = f"cipher-nb-{os.getpid()}"
    places = ["../../../calc.py", str(project / "calc.py"), str(tmp_path / "new"), f"/etc/{mine}", f"/{mine}"]
    result = contained(f"for place in {places!r}: attempt(lambda: open(place, 'w').write('hacked'))")
    assert result.output.splitlines()[-2:] == ["OSError", "OSError"]
    assert "hacked" not in (project / "calc.py").read_text()
    assert not any(Path(place).exists() for place in places[2:])


def test_a_link_in_the_copy_leads_nowhere(contained, copy, project, tmp_path):
    (tmp_path / "secret").write_text("secret")
    (copy / "link").symlink_to(tmp_path / "secret")
    (copy / "up").symlink_to(project)
    result = contained("attempt(lambda: open('link').read()); attempt(lambda: open('up/calc.py').read())")
    assert result.output == "FileNotFoundError\nFileNotFoundError\n"
    contained("open('link', 'w').write('hacked')")
    assert (tmp_path / "secret").read_text() == "secret"


def test_the_copy_shares_no_file_with_the_real_tree(copy, project):
    real, copied = ({file.stat().st_ino for file in root.glob("*") if file.is_file()} for root in (project, copy))
    assert len(real) == len(copied) > 0
    assert real.isdisjoint(copied)


def test_no_file_outside_can_be_hard_linked_into_the_copy(contained):
    result = contained(
        "import os\nfor real in ('/etc/passwd', os.__file__): attempt(lambda: os.link(os.path.realpath(real), 'mine'))"
    )
    assert result.output == "OSError\nOSError\n"


def test_proc_shows_no_other_process_and_no_environment_of_one(contained):
    result = contained(
        "import glob\n"
        "print(len(glob.glob('/proc/[0-9]*')))\n"
        "for name in glob.glob('/proc/[0-9]*/environ'):\n"
        "    attempt(lambda: b'hunter2' in open(name, 'rb').read())\n"
    )
    assert result.output == "2\nPermissionError\nFalse\n"


def test_the_switches_of_the_kernel_cannot_be_turned(contained):
    name = "/proc/sys/kernel/core_pattern"
    result = contained(f"same = open({name!r}).read()\nattempt(lambda: open({name!r}, 'w').write(same))")
    assert result.output in ("OSError\n", "PermissionError\n")


def test_hooks_of_the_real_repository_cannot_be_planted(contained, project, tmp_path):
    hook = f"#!/bin/sh\ntouch {tmp_path}/ran\n"
    result = contained(
        "import os\n"
        f"for place in ('.git/hooks', '../../../.git/hooks', {str(project / '.git/hooks')!r}):\n"
        "    os.makedirs(place, exist_ok=True)\n"
        "    for name in ('pre-commit', 'post-commit', 'post-checkout'):\n"
        f"        open(place + '/' + name, 'w').write({hook!r})\n"
        "        os.chmod(place + '/' + name, 0o755)\n"
    )
    assert result.passed is True
    git(project, "commit", "--quiet", "--allow-empty", "--message=next")
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("name", ["conftest.py", "sitecustomize.py", "usercustomize.py"])
def test_python_files_that_run_by_themselves_act_on_the_copy_only(contained, copy, project, name):
    code = (
        f"import os\nopen('ran-as-' + str(os.getpid()), 'w')\nopen({str(project / 'calc.py')!r}, 'w').write('hacked')\n"
    )
    (copy / name).write_text(code)
    result = contained("", command="python -m pytest -q")
    if name == "usercustomize.py":  # which a Python without a user site passes over
        run_by_python_of_workspace("python attack.py", "--system-site-packages", copy=copy, kind=result.isolation)
    assert "hacked" not in (project / "calc.py").read_text()
    assert not (copy / "ran-as-1").exists()  # the launcher loads none of them
    assert list(copy.glob("ran-as-*"))


def test_the_environment_holds_no_secret(limited):
    result = limited("import os\nprint('hunter2' in str(os.environ), 'SECRET_TOKEN' in os.environ)")
    assert result.output == "False False\n"


@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
def test_tcp_reaches_no_listener_outside(contained, address):
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.create_server((address, 0), family=family) as listener:
        listener.setblocking(False)
        result = contained(
            f"import socket\nattempt(lambda: socket.create_connection({listener.getsockname()[:2]!r}, 2))"
        )
        with pytest.raises(BlockingIOError):
            listener.accept()
    assert result.output == "ConnectionRefusedError\n"


def test_udp_and_so_dns_reaches_no_listener_outside(contained):
    query = b"\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x06secret\x07example\x00\x00\x01\x00\x01"
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as listener:
        listener.bind(("127.0.0.1", 0))
        listener.settimeout(0.3)
        contained(f"import socket\nsocket.socket(type=socket.SOCK_DGRAM).sendto({query!r}, {listener.getsockname()!r})")
        with pytest.raises(TimeoutError):
            listener.recv(512)


def test_there_is_no_interface_but_a_loopback_of_its_own_which_works(contained):
    result = contained(
        "import socket\n"
        "print([name for _, name in socket.if_nameindex()])\n"
        "server = socket.create_server(('127.0.0.1', 0))\n"
        "socket.create_connection(server.getsockname(), 2).sendall(b'hello')\n"
        "print(server.accept()[0].recv(5))\n"
    )
    assert result.output == "['lo']\nb'hello'\n"


@pytest.mark.parametrize("kind", ["file", "abstract"])
def test_unix_sockets_of_the_machine_are_out_of_reach(contained, tmp_path, kind):
    address = str(tmp_path / "s") if kind == "file" else f"\0cipher-nb-{os.getpid()}"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen()
        result = contained(f"import socket\nattempt(lambda: socket.socket(socket.AF_UNIX).connect({address!r}))")
    assert result.output == {"file": "FileNotFoundError\n", "abstract": "ConnectionRefusedError\n"}[kind]


def test_the_folders_where_services_listen_are_not_there(contained):
    result = contained("import os\nprint([p for p in ('/run', '/var', '/sys', '/tmp/.X11-unix') if os.path.exists(p)])")
    assert result.output == "[]\n"


def test_a_fork_bomb_is_ended(limited):
    mark = f"bomb-{os.getpid()}"
    result = limited(
        "import os, time\nfor _ in range(300):\n    if os.fork() == 0: time.sleep(60)\ntime.sleep(60)\n",
        command=f"python attack.py {mark}",
        max_processes=40,
    )
    assert (result.passed, result.timed_out) == (False, False)
    assert "ended: it had over 40 processes" in result.output or "BlockingIOError" in result.output
    assert running(mark) == []


def test_memory_is_limited_for_all_processes_together(limited):
    fork = "import os, time\nfor _ in range(6):\n    if os.fork() == 0: {}; time.sleep(2); os._exit(0)\n"
    each_its_own = limited(fork.format("own = b'x' * 100_000_000") + "time.sleep(20)", max_memory_mb=400)
    assert (each_its_own.passed, each_its_own.timed_out) == (False, False)
    assert each_its_own.output == "\nended: its processes together used over 400 MB\n"
    shared = limited("one = b'x' * 100_000_000\n" + fork.format("len(one)") + "time.sleep(1)", max_memory_mb=400)
    assert (shared.passed, shared.output) == (True, "")


def test_endless_output_is_ended_and_fills_no_memory(limited):
    before = psutil.Process().memory_info().rss
    started = time.monotonic()
    result = limited("while True: print('x' * 1_000_000)", max_output_bytes=8_000, timeout_s=60.0)
    assert time.monotonic() - started < 50.0
    assert psutil.Process().memory_info().rss - before < 32 * 2**20
    assert (result.passed, len(result.output) < 8_100) == (False, True)
    assert result.output.endswith("\nended: it printed over 256 MB\n")


def test_a_file_grows_no_larger_than_allowed(limited, copy):
    result = limited("open('big', 'wb').write(bytes(3_000_000))", max_file_mb=1)
    assert "File too large" in result.output
    assert (copy / "big").stat().st_size == 2**20


@pytest.mark.parametrize("folder", ["/tmp", "/dev/shm"])
def test_memory_cannot_be_filled_through_files(contained, folder):
    result = contained(
        "import os\n"
        f"for name in 'abcd': attempt(lambda: open('{folder}/' + name, 'wb').write(bytes(3_000_000)))\n"
        f"print(sum(os.path.getsize('{folder}/' + name) for name in 'abcd') <= 4 * 2**20)\n",
        max_file_mb=4,
    )
    assert result.output == "3000000\nOSError\nOSError\nOSError\nTrue\n"


def test_sleeping_past_the_limit_ends_in_time_whatever_signals_are_ignored(limited):
    mark = f"sleeper-{os.getpid()}"
    started = time.monotonic()
    result = limited(
        "import signal, time\n"
        "for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}: signal.signal(number, signal.SIG_IGN)\n"
        "time.sleep(60)\n",
        command=f"python attack.py {mark}",
        timeout_s=1.0,
    )
    assert time.monotonic() - started < 30.0
    assert (result.passed, result.timed_out) == (False, True)
    wait_until(lambda: running(mark) == [])


def test_a_daemon_does_not_outlive_its_check(limited):
    mark = f"daemon-{os.getpid()}"
    daemon = "import time; open('started', 'w'); time.sleep(60)"
    result = limited(
        "import os, sys, time\n"
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        "    if os.fork() == 0:\n"
        f"        os.execve(sys.executable, ['python', '-c', {daemon!r}, 'daemon-' + sys.argv[1]], {{}})\n"
        "    os._exit(0)\n"
        "os.wait()\n"
        "while not os.path.exists('started'): time.sleep(0.01)\n",
        command=f"python attack.py {os.getpid()}",
    )
    assert (result.passed, running(mark)) == (True, [])


def test_a_check_does_not_outlive_the_program_that_ran_it(limited, copy):
    mark = f"orphan-{os.getpid()}"
    (copy / "orphan.py").write_text("import time\nopen('started', 'w')\ntime.sleep(60)")
    code = f"{RUN_CHECK}run('python orphan.py {mark}', copy=Path({str(copy)!r}), isolation={limited('').isolation!r})"
    with subprocess.Popen([sys.executable, "-c", code], start_new_session=True) as caller:
        wait_until(lambda: (copy / "started").exists())
        assert running(mark) != []
        os.kill(caller.pid, signal.SIGKILL)
    wait_until(lambda: running(mark) == [])


def test_rewriting_the_tests_does_not_reach_the_real_ones(contained, project):
    contained("import glob\nfor name in (*glob.glob('test_*'), '../../../test_calc.py'): open(name, 'w').write('')")
    assert (project / "test_calc.py").read_text() == TEST


def test_the_operators_home_is_hidden(contained, tmp_path):
    real = str(tmp_path / "operator")
    result = contained(
        "import os, pwd\n"
        f"for home in ({real!r}, os.path.expanduser('~'), pwd.getpwuid(os.getuid()).pw_dir):\n"
        "    attempt(lambda: os.listdir(home + '/.ssh'))\n"
    )
    assert result.output == "FileNotFoundError\n" * 3


def test_a_home_inside_a_folder_of_the_system_is_hidden_too(contained, monkeypatch):
    monkeypatch.setenv("HOME", "/usr/share")
    assert contained("import os\nprint(os.listdir('/usr/share'))").output == "[]\n"


def test_what_only_root_may_read_is_hidden_from_a_check_of_roots_too(contained):
    result = contained(
        "attempt(lambda: open('/etc/shadow').read())\nattempt(lambda: len(open('/etc/passwd').read()) > 0)"
    )
    assert result.output == "PermissionError\nTrue\n"


def test_repository_and_records_of_the_workspace_cannot_be_read(contained, project):
    (project / ".aide/cipher-state.jsonl").write_text("the bus")
    result = contained(
        "import os\nfor name in ('.git/config', '.aide/cipher-state.jsonl', 'calc.py'):\n"
        f"    attempt(lambda: open({str(project)!r} + '/' + name).read())\n"
    )
    assert result.output == "FileNotFoundError\n" * 3


def test_processes_outside_cannot_be_killed_or_traced(contained, victim):
    contained(
        "import ctypes, os\n"
        f"attempt(lambda: ctypes.CDLL(None).ptrace(0x4206, {victim.pid}, 0, 0))\n"  # PTRACE_SEIZE
        f"attempt(lambda: os.kill({victim.pid}, 9))\n"
    )
    assert victim.poll() is None


def test_the_launcher_cannot_be_killed_or_traced(contained):
    result = contained(
        "import ctypes, os\n"
        "os.kill(os.getppid(), 9)\n"
        "print(ctypes.CDLL(None).ptrace(0x4206, os.getppid(), 0, 0))\n"  # PTRACE_SEIZE
    )
    assert (result.passed, result.output) == (True, "-1\n")


def test_there_is_no_right_and_no_way_to_one(contained):
    result = contained(
        "lines = dict(line.split(':\\t', 1) for line in open('/proc/self/status').read().splitlines())\n"
        "print(lines['CapPrm'], lines['CapEff'], lines['CapAmb'], lines['NoNewPrivs'])\n"
    )
    assert result.output == "0000000000000000 0000000000000000 0000000000000000 1\n"


@pytest.mark.parametrize("prefix", ["", "unshare --user --keep-caps --mount "])
def test_the_disk_cannot_be_made_writable_again(contained, prefix):
    result = contained(
        "import ctypes, struct\n"
        "unlock = struct.pack('QQQQ', 0, 1, 0, 0)\n"  # mount_setattr: clear the read-only bit
        "for place in (b'/', b'/usr', b'/etc'): print(ctypes.CDLL(None).syscall(442, -100, place, 0, unlock, 32))\n"
        f"attempt(lambda: open('/etc/cipher-nb-{os.getpid()}', 'w'))\n",
        command=f"{prefix}python attack.py",
    )
    assert result.output == "-1\n-1\n-1\nOSError\n"


def test_the_packages_of_this_python_are_readable_and_not_writable(contained):
    place = Path(pytest.__file__).parent / f"cipher-nb-test-{os.getpid()}"
    result = contained(f"import pytest\nattempt(lambda: open({str(place)!r}, 'w'))")
    assert result.output == "OSError\n"
    assert not place.exists()


def test_a_python_that_lies_in_the_workspace_still_runs_the_checks(contained, copy, project):
    (copy / "prefix.py").write_text("import sys\nprint(sys.prefix)")
    printed = run_by_python_of_workspace("python prefix.py", copy=copy, kind=contained("").isolation)
    assert printed.strip() == str(project / ".venv")
