"""`cipher-nb chat` as its user meets it: a real process and a real server that answers from a script."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from cipher_nb.workspace import Workspace
from tests.scripted_server import ScriptedServer, scripted_server

pytestmark = pytest.mark.slow  # every test starts processes


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with scripted_server() as running:
        yield running


@pytest.fixture
def workspace(tmp_path: Path, server: ScriptedServer) -> Workspace:
    ws = Workspace.init(tmp_path)
    ws.paths.config.write_text(f'[engine]\nurl = "{server.url}"\n')
    return Workspace.open(tmp_path)


def start(*arguments: str, cwd: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "cipher_nb.cli", "chat", *arguments]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=cwd, stdin=pipe, stdout=pipe, stderr=pipe, text=True)


def chat(*arguments: str, ws: Workspace, stdin: str = "") -> tuple[int, str, str]:
    process = start(*arguments, cwd=ws.paths.root)
    out, err = process.communicate(stdin, timeout=60)
    return process.returncode, out, err


def test_the_answer_is_plain_text_and_the_way_on_stands_on_stderr(workspace: Workspace) -> None:
    code, out, err = chat("How do I open a file?", ws=workspace)
    (turn,) = workspace.transcripts.read()
    assert (code, out) == (0, "Use `Path.open`.\n")
    assert err == (
        f"(task {turn.task}; go on with --task {turn.task}, approve with: "
        f"cipher-nb event approval task={turn.task} tool=chat pattern='…' summary='…')\n"
    )
    assert (turn.reply, turn.finish, turn.messages[-1]["content"]) == (
        "Use `Path.open`.",
        "stop",
        "How do I open a file?",
    )


def test_the_printed_task_goes_on_with_the_conversation(workspace: Workspace, server: ScriptedServer) -> None:
    _, _, err = chat("first", ws=workspace)
    (task,) = re.findall(r"--task (\w+)", err)
    chat("second", "--task", task, ws=workspace)
    assert [message["content"] for message in server.asked[1]["messages"][1:]] == [
        "first",
        "Use `Path.open`.",
        "second",
    ]


def test_the_answer_is_on_stdout_while_it_is_made(workspace: Workspace, server: ScriptedServer) -> None:
    seen = threading.Event()
    server.before_piece = lambda number: number == 0 or seen.wait(60)
    process = start("q", cwd=workspace.paths.root)
    assert read_until("Use ", process) == "Use "
    seen.set()
    assert process.communicate(timeout=60)[0] == "`Path.open`.\n"


def read_until(words: str, process: subprocess.Popen[str]) -> str:
    assert process.stdout
    said = ""
    while words not in said:
        said += os.read(process.stdout.fileno(), 100).decode()
    return said


def test_a_question_is_read_from_standard_input(workspace: Workspace, server: ScriptedServer) -> None:
    assert chat("-", ws=workspace, stdin="two\nlines\n")[:2] == (0, "Use `Path.open`.\n")
    assert server.asked[0]["messages"][-1]["content"] == "two\nlines\n"
    code, out, err = chat("-", ws=workspace)
    assert (code, out) == (2, "")
    assert err == "cipher-nb: there is no question; give it as TEXT, or - and the text on standard input\n"


def test_what_a_terminal_would_obey_is_not_sent_to_it(workspace: Workspace, server: ScriptedServer) -> None:
    server.pieces = ["\x1b]0;title\x07a\r", "\x1b", "[2Jb\tc\n"]
    assert chat("q", ws=workspace)[1] == "]0;titlea[2Jb\tc\n"
    assert workspace.transcripts.read()[0].reply == "\x1b]0;title\x07a\r\x1b[2Jb\tc\n"


def test_ctrl_c_keeps_what_was_said_and_exits_130(workspace: Workspace, server: ScriptedServer) -> None:
    server.pieces = ["Use ", "half", *["."] * 1000]
    server.before_piece = lambda number: server.hung_up.wait(0.01 if number < 2 else 1)  # nothing comes meanwhile
    process = start("q", "--task", "my task", cwd=workspace.paths.root)
    said = read_until("Use half", process)
    process.send_signal(signal.SIGINT)
    rest, err = process.communicate(timeout=60)
    (turn,) = workspace.transcripts.read()
    assert process.returncode == 130
    assert said + rest == turn.reply + "\n"
    assert err == "stopped; what was said is kept, go on with --task 'my task'\n"
    assert (turn.task, turn.finish) == ("my task", "aborted")


def test_ctrl_c_before_the_first_word_says_so(workspace: Workspace, server: ScriptedServer) -> None:
    process = start("q", cwd=workspace.paths.root)

    def interrupt(number: int) -> None:
        process.send_signal(signal.SIGINT)
        process.wait(60)

    server.before_piece = interrupt
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (130, "", "stopped; nothing was said yet\n")
    assert workspace.transcripts.read() == []


def test_an_engine_that_breaks_off_is_one_line_below_what_was_said(
    workspace: Workspace, server: ScriptedServer
) -> None:
    server.raw = [b'data: {"choices":[{"delta":{"content":"Use "}}]}\n\n', b'data: {"error":{"message":"lost"}}\n\n']
    assert chat("q", ws=workspace) == (3, "Use \n", f"cipher-nb: {server.url} broke off its answer: lost\n")


def test_an_answer_that_was_cut_off_says_so(workspace: Workspace, server: ScriptedServer) -> None:
    server.finish = "length"
    assert ", cut off by the token limit; go on" in chat("q", ws=workspace)[2]


def test_json_is_one_document_and_nothing_else(workspace: Workspace, server: ScriptedServer) -> None:
    code, out, err = chat("q", "--task", "t1", "--json", ws=workspace)
    assert (code, err) == (0, "")
    answer = json.loads(out)
    assert list(answer) == ["text", "task", "adapter", "scaffold"]
    assert (answer["text"], answer["task"], answer["adapter"]) == ("Use `Path.open`.", "t1", "base")
    assert server.asked[0]["stream"] is False
