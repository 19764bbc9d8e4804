"""What a log survives: a cut at any byte, any bytes at all, several writers at once, a shell."""

import subprocess
import sys
import textwrap
from datetime import UTC, datetime

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cipher_nb.bus import Bus

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


def types(events):
    return [event.type for event in events]


def test_a_log_cut_at_any_byte_keeps_every_whole_line_and_takes_the_next(tmp_path):
    whole = tmp_path / "whole.jsonl"
    for kind in ("one", "zwei", "три", "四"):
        Bus(whole, clock=lambda: NOON).append(kind, text='a "quoted" line\nand ümläut')
    content = whole.read_bytes()
    ends = [place for place, byte in enumerate(content) if byte == ord("\n")]
    path = tmp_path / "cut.jsonl"
    for cut in range(len(content) + 1):
        path.write_bytes(content[:cut])
        survivors = ["one", "zwei", "три", "四"][: sum(end <= cut for end in ends)]
        bus = Bus(path, clock=lambda: NOON)
        assert types(reversed(bus.read_state())) == survivors
        assert bus.append("next") is True
        assert types(reversed(bus.read_state())) == [*survivors, "next"]
        assert types(bus.tail().events) == [*survivors, "next"][::-1]


@given(st.lists(st.one_of(st.binary(max_size=60), st.just(b'{"type":"whole"}')), max_size=20))
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_no_bytes_in_the_file_stop_reading_or_the_next_event(tmp_path, pieces):
    path = tmp_path / "bus.jsonl"
    path.write_bytes(b"\n".join(pieces))
    bus = Bus(path, clock=lambda: NOON)
    whole = [event for event in bus.read_state() if event.type == "whole"]
    assert len(whole) >= sum(piece == b'{"type":"whole"}' for piece in pieces)
    assert bus.append("next")
    assert bus.read_state(limit=1)[0].type == "next"
    assert list(bus.tail().events) == bus.read_state()


def test_several_processes_and_a_shell_write_at_once_and_nothing_is_lost_or_mixed(tmp_path):
    path = tmp_path / "bus.jsonl"
    bus = Bus(path)
    bus.append("first")
    code = textwrap.dedent(
        """
        import sys
        from pathlib import Path
        from cipher_nb.bus import Bus
        bus = Bus(Path(sys.argv[1]))
        print("ready", flush=True)
        sys.stdin.readline()
        for number in range(60):
            assert bus.append("note", writer=sys.argv[2], number=number, pad=sys.argv[2] * (number * 400))
        """
    )
    echo = f"""echo '{{"type":"note","writer":"s","number":'$n',"pad":""}}' >> {path}"""
    commands = [[sys.executable, "-c", code, str(path), name] for name in "abc"]
    commands.append(["/bin/sh", "-c", f"echo ready; read go; for n in $(seq 60); do {echo}; done"])
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "bufsize": 1}
    writers = [subprocess.Popen(command, **pipes) for command in commands]
    assert [writer.stdout.readline() for writer in writers] == ["ready\n"] * 4
    for writer in writers:
        writer.stdin.write("go\n")
    assert [writer.communicate(timeout=120) and writer.returncode for writer in writers] == [0, 0, 0, 0]
    events = bus.read_state(type="note")
    assert bus.skipped == 0
    assert len(events) == 240
    for name in "abc":
        own = [event for event in reversed(events) if event.fields["writer"] == name]
        assert [event.fields["number"] for event in own] == list(range(60))
        assert all(event.fields["pad"] == name * (event.fields["number"] * 400) for event in own)
    assert len({event.id for event in events if event.fields["writer"] in "abc"}) == 180


def test_a_line_echoed_by_hand_is_an_event(tmp_path):
    path = tmp_path / "bus.jsonl"
    bus = Bus(path)
    bus.append("note")
    subprocess.run(["/bin/sh", "-c", f"""echo '{{"type":"preference","pattern":"p","direction":"avoid"}}' >> {path}"""])
    bus.append("note")
    assert types(bus.read_state()) == ["note", "preference", "note"]


def test_a_line_printed_without_its_newline_costs_nothing(tmp_path):
    path = tmp_path / "bus.jsonl"
    bus = Bus(path)
    bus.append("first")
    subprocess.run(["/bin/sh", "-c", f"""printf '{{"type":"printed"}}' >> {path}"""])
    assert types(bus.read_state()) == ["printed", "first"]
    bus.append("next")
    assert types(bus.read_state()) == ["next", "printed", "first"]
