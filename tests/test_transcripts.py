"""Turns: written whole, read in order, and not lost to a neighbour's damage."""

import subprocess
import sys
import textwrap
from datetime import UTC, datetime, timedelta
from pathlib import Path

import orjson
import pytest

from cipher_nb.errors import CipherError
from cipher_nb.records import UNDATED, Turn, format_ts, new_id
from cipher_nb.transcripts import Transcripts

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


def turn(number=0, *, task="t1", ts=NOON, reply="r", finish="stop"):
    messages = ({"role": "system", "content": "s"}, {"role": "user", "content": f"ü {number}\n"})
    return Turn(f"id{number}", ts, task, "chat", messages, reply, "smollm2", "a1", 2, "s1", finish)


@pytest.fixture
def path(tmp_path):
    return tmp_path / ".aide" / "transcripts.jsonl"


def test_a_turn_comes_back_as_it_was_given(path):
    Transcripts(path).append(turn(finish="aborted"))
    assert Transcripts(path).read() == [turn(finish="aborted")]


def test_a_missing_file_has_no_turns(path):
    assert Transcripts(path).read() == []


def test_turns_come_oldest_first_by_task_and_time(path):
    transcripts = Transcripts(path)
    for number in range(4):
        transcripts.append(turn(number, task=f"t{number % 2}", ts=NOON + timedelta(hours=number)))
    assert [found.id for found in transcripts.read()] == ["id0", "id1", "id2", "id3"]
    assert [found.id for found in transcripts.read(task="t1")] == ["id1", "id3"]
    assert [found.id for found in transcripts.read(since=NOON + timedelta(hours=2))] == ["id2", "id3"]
    assert [found.id for found in transcripts.read(task="t0", since=NOON + timedelta(hours=1))] == ["id2"]
    assert transcripts.read(task="t9") == []


def test_torn_and_foreign_lines_are_left_out(path):
    transcripts = Transcripts(path)
    transcripts.append(turn(1))
    with path.open("ab") as file:
        file.write(
            b'hello\n[]\n{"type":"note"}\n{"messages":[],"reply":7}\n{"messages":"x","reply":"r"}\n'
            b'{"messages":[{"role":"user"}],"reply":"r"}\n{"messages":[{"role":"user","content":7}],"reply":"r"}\n'
            b'{"messages":[{"role":"user","content":"q"}],"reply":"r","attempt":"two"}\n\xff\n{"mess'
        )
    transcripts.append(turn(2))
    assert transcripts.read() == [turn(1), turn(2)]


def test_a_sparse_line_of_another_program_is_a_turn_without_a_time(path):
    path.parent.mkdir()
    path.write_text('{"messages":[{"role":"user","content":"q"}],"reply":"r"}\n')
    asked = ({"role": "user", "content": "q"},)
    assert Transcripts(path).read() == [Turn("", UNDATED, "", "chat", asked, "r")]
    assert Transcripts(path).read(since=NOON) == []


def test_a_transcript_cut_at_any_byte_keeps_every_whole_turn_and_takes_the_next(tmp_path):
    whole = tmp_path / "whole.jsonl"
    for number in range(3):
        Transcripts(whole).append(turn(number))
    content = whole.read_bytes()
    ends = [place for place, byte in enumerate(content) if byte == ord("\n")]
    path = tmp_path / "cut.jsonl"
    for cut in range(len(content) + 1):
        path.write_bytes(content[:cut])
        Transcripts(path).append(turn(9))
        survivors = [turn(number) for number in range(sum(end <= cut for end in ends))]
        assert Transcripts(path).read() == [*survivors, turn(9)]


def test_turns_of_several_processes_are_all_there_and_whole(path):
    code = textwrap.dedent(
        """
        import sys
        from datetime import UTC, datetime
        from pathlib import Path
        from cipher_nb.records import Turn
        from cipher_nb.transcripts import Transcripts
        transcripts = Transcripts(Path(sys.argv[1]))
        for number in range(30):
            transcripts.append(Turn(str(number), datetime.now(UTC), sys.argv[2], "chat", (), "x" * (number * 1000)))
        """
    )
    writers = [subprocess.Popen([sys.executable, "-c", code, str(path), name]) for name in "abc"]
    assert [writer.wait(timeout=120) for writer in writers] == [0, 0, 0]
    for name in "abc":
        found = Transcripts(path).read(task=name)
        assert [(each.id, len(each.reply)) for each in found] == [(str(n), n * 1000) for n in range(30)]


def test_a_turn_that_cannot_be_written_is_one_line_that_names_the_file(tmp_path):
    path = tmp_path / "transcripts.jsonl"
    path.symlink_to("/dev/full")
    with pytest.raises(CipherError) as caught:
        Transcripts(path).append(turn())
    assert str(caught.value) == (
        f"{path}: the turn was not recorded ([Errno 28] No space left on device); "
        "free some space or check who may write there"
    )


def test_the_newest_turns_come_first_and_no_more_is_read_than_is_taken(path):
    transcripts = Transcripts(path)
    for number in range(2000):
        transcripts.append(turn(number, task=f"t{number % 2}", reply="x" * 1000))
    before = bytes_read()
    newest = transcripts.newest(task="t0")
    assert [next(newest).id for _ in range(3)] == ["id1998", "id1996", "id1994"]
    assert bytes_read() - before < 70_000


def bytes_read():
    return int(Path("/proc/self/io").read_text().split()[1])


def filled(path, lines):
    """Write so many turns of other tasks, a minute apart, the last at noon, and return the transcripts."""
    path.parent.mkdir(exist_ok=True)
    rows = (
        orjson.dumps(turn(number, task="other", ts=NOON - timedelta(minutes=lines - number), reply="x" * 900).to_json())
        for number in range(lines)
    )
    path.write_bytes(b"\n".join(rows) + b"\n")
    return Transcripts(path)


@pytest.mark.parametrize("lines", [1_000, 20_000])
def test_a_tasks_turns_cost_the_same_in_a_file_of_any_size(path, lines):
    transcripts = filled(path, lines)
    task = new_id(NOON)
    transcripts.append(turn(1, task=task))
    before = bytes_read()
    assert transcripts.read(task=task) == [turn(1, task=task)]
    assert transcripts.read(since=NOON) == [turn(1, task=task)]
    assert bytes_read() - before < 2 * 3 * 65_536


def test_a_turn_dated_before_those_that_were_written_first_is_found(path):
    transcripts, task = Transcripts(path), new_id(NOON)
    transcripts.append(turn(1, task=task))
    for number in range(32):  # asked earlier, and answered at length
        transcripts.append(turn(number, task="other", ts=NOON - timedelta(minutes=5), reply="x" * 100_000))
    assert [found.id for found in transcripts.read(task=task)] == ["id1"]


def test_a_task_named_by_the_operator_is_found_however_far_back(path):
    names = ("refactor the loader", "aaaaaaaaaaaaaaaaaaaaaa", "a/b", "ü", 'quo"te', "back\\slash")
    path.parent.mkdir()
    path.write_bytes(b"".join(orjson.dumps(turn(task=name).to_json()) + b"\n" for name in names))
    with path.open("ab") as file:
        file.write(
            b"".join(orjson.dumps(turn(task="other", ts=NOON, reply="x" * 900).to_json()) + b"\n" for _ in range(200))
        )
    for name in names:
        assert Transcripts(path).read(task=name) == [turn(task=name)]


@pytest.mark.parametrize(("name", "spelled"), [("ü", "\\u00fc"), ("a/b", "a\\/b"), ("t1", "\\u00741")])
def test_a_task_that_another_program_spelled_with_escapes_is_found(path, name, spelled):
    path.parent.mkdir()
    path.write_text(f'{{"messages":[{{"role":"user","content":"q"}}],"reply":"r","task":"{spelled}"}}\n')
    assert [found.task for found in Transcripts(path).read(task=name)] == [name]


@pytest.mark.parametrize("ts", [f'"{format_ts(NOON)}"', str(int(NOON.timestamp() * 1000))])
def test_times_of_other_programs_do_not_end_a_search(path, ts):
    transcripts, task = Transcripts(path), new_id(NOON)
    transcripts.append(turn(1, task=task))
    row = f'{{"ts" : {ts},"messages":[{{"role":"user","content":"{"x" * 900}"}}],"reply":"r"}}\n'
    with path.open("a") as file:
        file.write(row * 200)
    assert [found.id for found in transcripts.read(task=task)] == ["id1"]


def test_a_line_of_before_the_finish_was_recorded_was_finished(path):
    Transcripts(path).append(turn())
    path.write_text(path.read_text().replace(',"finish":"stop"', ""))
    assert "finish" not in path.read_text()
    assert Transcripts(path).read() == [turn()]


def test_purged_turns_are_gone_and_foreign_lines_stay_unless_all_goes(path):
    transcripts = Transcripts(path)
    assert transcripts.purge(everything=True) == 0
    for number in range(4):
        transcripts.append(turn(number, task=f"t{number % 2}", ts=NOON + timedelta(hours=number)))
    with path.open("a") as file:
        file.write("a note\n")
    assert transcripts.purge(tasks=["t1"]) == 2
    assert [found.id for found in transcripts.read()] == ["id0", "id2"]
    assert path.read_text().endswith("\na note\n")
    assert transcripts.purge(before=NOON + timedelta(hours=2)) == 1
    assert [found.id for found in transcripts.read()] == ["id2"]
    assert transcripts.purge(everything=True) == 2
    assert path.read_text() == ""
