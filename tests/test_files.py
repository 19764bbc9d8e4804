"""Durable writes, appends under a lock, paths that stay inside."""

import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from cipher_nb import files
from cipher_nb.errors import CipherError, UnsafePathError


def python(code, *arguments):
    command = [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def write_calls():
    counters = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
    return int(counters["syscw"])


def test_an_atomic_write_replaces_the_whole_file_and_leaves_nothing_beside_it(tmp_path):
    path = tmp_path / "new" / "folder" / "a.txt"
    files.write_atomic(path, "first")
    files.write_atomic(path, b"second")
    assert path.read_bytes() == b"second"
    assert [entry.name for entry in path.parent.iterdir()] == ["a.txt"]


def test_a_failed_atomic_write_keeps_the_old_file_and_leaves_nothing_beside_it(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    writer = python(
        """
        import resource, sys
        from pathlib import Path
        from cipher_nb import files
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
        try:
            files.write_atomic(Path(sys.argv[1]), b"x" * 2000)
        except OSError as error:
            print(error.strerror)
        """,
        path,
    )
    assert writer.communicate(timeout=60)[0] == "File too large\n"
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.txt"]


WRITER = """
import os, sys, time
from pathlib import Path
from cipher_nb import files
os.fsync = lambda handle: print("written", flush=True) or time.sleep(600)
files.write_atomic(Path(sys.argv[1]), "old words")
"""


def test_what_a_killed_writer_left_goes_and_what_a_living_one_writes_stays(tmp_path):
    kept, sandbox = tmp_path / "data" / ".mine.tmp", tmp_path / "sandboxes" / ".a.0123456789ab.tmp"
    for path in (kept, sandbox):
        path.parent.mkdir()
        path.write_text("the operator's")
    writer = python(WRITER, tmp_path / "data" / "a.txt")
    assert writer.stdout.readline() == "written\n"
    (half,) = (tmp_path / "data").glob(".a.txt.*.tmp")
    files.remove_leftovers(tmp_path, outside=[sandbox.parent])
    assert half.exists()
    writer.kill()
    writer.communicate()
    files.remove_leftovers(tmp_path, outside=[sandbox.parent])
    assert (half.exists(), kept.exists(), sandbox.exists()) == (False, True, True)


@pytest.mark.slow
def test_a_reader_never_sees_half_of_an_atomic_write(tmp_path):
    path = tmp_path / "a.txt"
    files.write_atomic(path, b"0" * 100_000)
    writer = python(
        """
        import sys
        from pathlib import Path
        from cipher_nb import files
        for number in range(100):
            files.write_atomic(Path(sys.argv[1]), str(number % 10).encode() * 100_000)
        """,
        path,
    )
    seen = set()
    while writer.poll() is None:
        content = path.read_bytes()
        seen.add((len(content), len(set(content))))
    writer.communicate()
    assert seen == {(100_000, 1)}


def test_json_is_read_back_and_nan_becomes_null(tmp_path):
    path = tmp_path / "a.json"
    files.write_json(path, {"a": [1, "ü", None], "b": float("nan")})
    assert files.read_json(path) == {"a": [1, "ü", None], "b": None}


def test_broken_json_is_an_error_that_names_the_file(tmp_path):
    path = tmp_path / "a.json"
    path.write_text('{"a": ')
    with pytest.raises(CipherError, match=r"a\.json is not valid JSON .*; move it away to start afresh"):
        files.read_json(path)


def test_missing_json_is_a_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        files.read_json(tmp_path / "a.json")


def test_the_lock_of_a_killed_holder_is_free(tmp_path):
    path = tmp_path / "a.jsonl"
    holder = python(
        """
        import sys, time
        from pathlib import Path
        from cipher_nb import files
        with files.locked(Path(sys.argv[1])):
            print("held", flush=True)
            time.sleep(60)
        """,
        path,
    )
    assert holder.stdout.readline() == "held\n"
    with pytest.raises(TimeoutError), files.locked(path, timeout_s=0.1):
        pass
    holder.send_signal(signal.SIGKILL)
    holder.communicate()
    with files.locked(path, timeout_s=1):
        pass


@pytest.mark.parametrize("relative", ["a.py", "src/a.py", "./a.py", "not yet/there.py", "..a/b..", "ü.py", "a b"])
def test_a_plain_relative_path_stays(tmp_path, relative):
    assert files.inside(tmp_path, relative) == tmp_path / relative


@pytest.mark.parametrize(
    "relative",
    [
        "",
        "/etc/passwd",
        "~/x",
        "../x",
        "a/../../x",
        "a/..",
        "a//b",
        "a\\b",
        "a\0b",
        "out/x",
        "ghost",
        "loop/x",
        "\ud800",
    ],
)
def test_a_path_that_leads_out_or_nowhere_is_refused(tmp_path, relative):
    root = tmp_path / "root"
    root.mkdir()
    (root / "out").symlink_to(tmp_path)
    (root / "ghost").symlink_to(tmp_path / "missing")
    (root / "loop").symlink_to("loop")
    with pytest.raises(UnsafePathError):
        files.inside(root, relative)


def test_a_link_that_stays_inside_is_allowed(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    assert files.inside(tmp_path, "link/a.py") == tmp_path / "link/a.py"


def test_a_workspace_reached_through_a_link_is_a_workspace(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    assert files.inside(tmp_path / "link", "a.py") == tmp_path / "link" / "a.py"


def test_sha256_is_that_of_the_bytes(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"abc")
    assert files.sha256_of(path) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
