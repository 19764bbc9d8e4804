"""Turns: written whole, read in order, and not lost to a neighbour's damage."""

import subprocess
import sys
import textwrap
from datetime import UTC, datetime, timedelta

import pytest

from cipher_nb.errors import CipherError
from cipher_nb.records import UNDATED, Turn
from cipher_nb.transcripts import Transcripts

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


def turn(number=0, *, task="t1", ts=NOON, reply="r"):
    messages = ({"role": "system", "content": "s"}, {"role": "user", "content": f"ü {number}\n"})
    return Turn(f"id{number}", ts, task, "chat", messages, reply, "smollm2", "a1", 2, "s1")


@pytest.fixture
def path(tmp_path):
    return tmp_path / ".aide" / "transcripts.jsonl"


def test_a_turn_comes_back_as_it_was_given(path):
    Transcripts(path).append(turn())
    assert Transcripts(path).read() == [turn()]


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
