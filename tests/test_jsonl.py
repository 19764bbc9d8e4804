"""JSONL files: appended whole, under a lock, and read past any damage."""

import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import pytest

from cipher_nb import jsonl


def python(code, *arguments):
    command = [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def write_calls():
    counters = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
    return int(counters["syscw"])


@pytest.mark.parametrize("size", [10, 9_000, 1_000_000])
def test_a_line_is_appended_with_one_write_whatever_its_length(tmp_path, size):
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"torn")
    before = write_calls()
    jsonl.append_line(path, b"x" * size)
    assert write_calls() - before == 1
    assert path.read_bytes() == b"torn\n" + b"x" * size + b"\n"


def test_a_line_given_with_its_newline_gets_no_second_one(tmp_path):
    path = tmp_path / "a.jsonl"
    jsonl.append_line(path, b"one\n", durable=True)
    jsonl.append_line(path, b"two")
    assert path.read_bytes() == b"one\ntwo\n"


def test_a_full_disk_costs_only_the_line_that_met_it(tmp_path):
    path = tmp_path / "a.jsonl"
    writer = python(
        """
        import resource, sys
        from pathlib import Path
        from cipher_nb import jsonl
        path = Path(sys.argv[1])
        jsonl.append_line(path, b"before")
        resource.setrlimit(resource.RLIMIT_FSIZE, (20, -1))
        try:
            jsonl.append_line(path, b"x" * 100)
        except OSError as error:
            print(error.strerror)
        resource.setrlimit(resource.RLIMIT_FSIZE, (-1, -1))
        jsonl.append_line(path, b"after")
        """,
        path,
    )
    assert writer.communicate(timeout=60)[0] == "File too large\n"
    lines = path.read_bytes().split(b"\n")
    assert (lines[0], lines[-2:]) == (b"before", [b"after", b""])
    assert set(b"".join(lines[1:-2])) <= set(b"x")


def test_lines_are_read_in_file_order_without_torn_and_foreign_ones(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"n":1}\r\n\n[2]\nhello\n\xff\xfe\n{"n":3}\n{"n":')
    assert jsonl.read_lines(path) == [{"n": 1}, {"n": 3}]


def test_a_missing_file_has_no_lines(tmp_path):
    assert jsonl.read_lines(tmp_path / "a.jsonl") == []


def test_appends_of_several_processes_are_all_there_and_whole(tmp_path):
    path = tmp_path / "a.jsonl"
    code = """
        import sys
        from pathlib import Path
        from cipher_nb import jsonl
        for number in range(50):
            jsonl.append_line(Path(sys.argv[1]), (sys.argv[2] * (1 + 797 * number)).encode())
        """
    for writer in [python(code, path, letter) for letter in "abc"]:
        writer.communicate(timeout=60)
    found = sorted(path.read_bytes().splitlines())
    assert found == sorted((letter * (1 + 797 * number)).encode() for letter in "abc" for number in range(50))
    assert path.stat().st_size == sum(len(line) + 1 for line in found)


def test_the_lock_is_waited_for_and_then_named(tmp_path):
    path = tmp_path / "a.jsonl"
    with jsonl.held(path):
        with (
            pytest.raises(TimeoutError, match=r"a\.jsonl is locked by another program"),
            jsonl.held(path, timeout_s=0.05),
        ):
            pass
        assert not path.read_bytes()
    with jsonl.held(path, timeout_s=0.05) as handle:
        jsonl.write_line(handle, b"one")
    assert path.read_bytes() == b"one\n"


def test_the_lock_of_a_killed_holder_is_free(tmp_path):
    path = tmp_path / "a.jsonl"
    holder = python(
        """
        import sys, time
        from pathlib import Path
        from cipher_nb import jsonl
        with jsonl.held(Path(sys.argv[1])):
            print("held", flush=True)
            time.sleep(60)
        """,
        path,
    )
    assert holder.stdout.readline() == "held\n"
    holder.kill()
    holder.wait()
    with jsonl.held(path, timeout_s=1):
        pass


def test_threads_of_one_process_wait_for_each_other(tmp_path):
    path = tmp_path / "a.jsonl"

    def write(name):
        for number in range(100):
            jsonl.append_line(path, f"{name}{number}".encode())

    threads = [threading.Thread(target=write, args=(name,)) for name in "abcdefgh"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    lines = path.read_text().splitlines()
    for name in "abcdefgh":
        assert [line for line in lines if line[0] == name] == [f"{name}{number}" for number in range(100)]


@pytest.mark.parametrize("length", [65_534, 65_535, 65_536, 65_537, 131_071, 131_072, 131_073])
def test_lines_come_from_the_end_whole_wherever_the_blocks_meet(tmp_path, length):
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"first\n" + b"x" * (length - 12) + b"\nlast\ntorn")
    with path.open("rb") as file:
        lines = list(jsonl.lines_from_end(file))
    assert lines == [b"torn", b"last", b"x" * (length - 12), b"first"]


def test_what_is_turned_down_is_gone_and_the_rest_is_byte_for_byte_the_same(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"one\r\n\ntwo\nthree\ntwo\ntorn")
    assert jsonl.rewrite(path, lambda line: line != b"two") == 2
    assert path.read_bytes() == b"one\r\n\nthree\ntorn"
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.jsonl"]
    assert jsonl.rewrite(tmp_path / "missing.jsonl", lambda line: False) == 0


def test_a_line_that_a_writer_without_the_lock_was_late_with_is_carried_over(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"gone\nstays\n")
    late = path.open("ab", buffering=0)

    def keep(line):
        if line == b"stays":
            late.write(b"late\n")  # the file has been read up to here
        return line != b"gone"

    assert jsonl.rewrite(path, keep) == 1
    assert path.read_bytes() == b"stays\nlate\n"


def test_a_failed_rewrite_leaves_the_old_file_and_nothing_beside_it(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"one\n")

    def fail(line):
        raise RuntimeError

    with pytest.raises(RuntimeError):
        jsonl.rewrite(path, fail)
    assert path.read_bytes() == b"one\n"
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.jsonl"]
    jsonl.append_line(path, b"two")
    assert path.read_bytes() == b"one\ntwo\n"
