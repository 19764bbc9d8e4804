"""The magic in real kernels, before a real server that answers from a script; and once before the embedded model."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_notebook

from cipher_nb.engine import daemon
from cipher_nb.errors import ConfigError
from cipher_nb.magic.inert import BLOCK_STYLE, inert_html
from cipher_nb.magic.request import Request, parse_request
from cipher_nb.workspace import Workspace
from tests.scripted_server import ScriptedServer, event, scripted_server


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with scripted_server() as running:
        yield running


@pytest.fixture
def workspace(tmp_path: Path, server: ScriptedServer) -> Workspace:
    ws = Workspace.init(tmp_path)
    ws.paths.config.write_text(f'[engine]\nurl = "{server.url}"\n')
    return Workspace.open(tmp_path)


def executed(*cells: str, folder: Path) -> list[list[dict[str, Any]]]:
    """Run the cells in a new kernel in `folder`, behind `%load_ext cipher_nb`, and return the outputs of each."""
    notebook = new_notebook(cells=[new_code_cell(source) for source in ("%load_ext cipher_nb", *cells)])
    client = NotebookClient(
        notebook, timeout=120, kernel_name="python3", allow_errors=True, resources={"metadata": {"path": str(folder)}}
    )
    client.execute()
    nbformat.validate(notebook)
    return [cell.outputs for cell in notebook.cells[1:]]


@pytest.mark.slow
def test_a_conversation_in_a_notebook(workspace: Workspace, server: ScriptedServer) -> None:
    first, second, third, variable = executed(
        "%%cipher\nHow do I open {this} file in $HOME?",
        "if True:\n    %cipher --again and what's --json?\n    after = 1",
        "%%cipher --task mine explain:\nx = 1",
        "print(after, type(cipher_answer).__name__, cipher_answer.task, cipher_answer.turn.messages[-1])",
        folder=workspace.paths.root,
    )
    turns = workspace.transcripts.read()
    task = turns[0].task
    assert [turn.task for turn in turns] == [task, task, "mine"]
    assert [output["output_type"] for output in (*first, *second, *third)] == ["display_data"] * 3
    assert first[0]["data"] == {
        "text/html": f"<div><p>Use <code>Path.open</code>.</p>\n<p><small>task {task} · adapter base</small></p></div>",
        "text/plain": f"Use `Path.open`.\n(task {task} · adapter base)",
    }
    assert [message["content"] for message in server.asked[1]["messages"][1:]] == [
        "How do I open {this} file in $HOME?",
        "Use `Path.open`.",
        "and what's --json?",
    ]
    assert variable[0]["text"] == "1 Answer mine {'role': 'user', 'content': 'explain:\\nx = 1'}\n"


@pytest.mark.slow
def test_what_goes_wrong_is_one_line_and_fails_the_cell(
    workspace: Workspace, server: ScriptedServer, tmp_path: Path
) -> None:
    server.raw = [event({"content": "Use "}), b'data: {"error":{"message":"lost"}}\n\n']
    again, unknown, nowhere, broken = executed(
        "%cipher --again go on",
        "%cipher --tsk t1 q",
        "%%cipher --workspace '/no where'\nq",
        "%cipher q",
        folder=workspace.paths.root,
    )
    assert [output["traceback"] for output in (again[0], unknown[0], nowhere[0], broken[1])] == [
        ["cipher: --again: this kernel has asked nothing yet; ask without it, or name a --task"],
        ["cipher: --tsk is unknown or lacks its value; known: --task ID, --again, --workspace DIR"],
        ["cipher: no .aide/ at or above /no where; make one with: cipher-nb init"],
        [f"cipher: {server.url} broke off its answer: lost"],
    ]
    assert broken[0]["data"]["text/plain"] == "Use\n(not recorded)"
    assert workspace.transcripts.read() == []


@pytest.mark.slow
def test_interrupting_the_kernel_keeps_what_was_said(workspace: Workspace, server: ScriptedServer) -> None:
    pid_file = workspace.paths.root / "pid"
    server.pieces = ["Use ", "half", *["."] * 1000]

    def interrupt(number: int) -> None:
        if len(server.asked) == 1 and number == 30:
            time.sleep(2)  # until the kernel has shown what it heard, and waits for more
            os.kill(int(pid_file.read_text()), signal.SIGINT)
        server.hung_up.wait(0.01)
        if len(server.asked) == 2:
            server.pieces = ["Path."]

    server.before_piece = interrupt
    _, stopped, after = executed(
        "import os, pathlib; _ = pathlib.Path('pid').write_text(str(os.getpid()))",
        "%cipher q1",
        "%cipher --again q2",
        folder=workspace.paths.root,
    )
    turns = workspace.transcripts.read()
    assert [turn.finish for turn in turns] == ["aborted", "stop"]
    assert turns[0].reply.startswith("Use half")
    assert turns[1].task == turns[0].task
    footer = f"(task {turns[0].task} · stopped, and kept as far as it goes)"
    assert stopped[0]["data"]["text/plain"] == f"{turns[0].reply}\n{footer}"
    assert stopped[1]["traceback"] == ["cipher: stopped"]
    assert [message["content"] for message in server.asked[1]["messages"][1:]] == ["q1", turns[0].reply, "q2"]
    assert len(after) == 1


@pytest.mark.slow
def test_the_display_is_updated_in_place_about_ten_times_a_second(workspace: Workspace, server: ScriptedServer) -> None:
    server.pieces = ["word "] * 300
    server.before_piece = lambda number: time.sleep(0.01)
    counting = (
        "import IPython.core.display_functions as d, time\n"
        "shown, publish = [], d.publish_display_data\n"
        "def counted(*a, **k): shown.append(k.get('update', False)); publish(*a, **k)\n"
        "d.publish_display_data = counted"
    )
    *_, numbers = executed(
        counting, "t = time.monotonic()", "%cipher q", "print(len(shown), sum(shown), time.monotonic() - t)",
        folder=workspace.paths.root,
    )  # fmt: skip
    shown, updates, seconds = map(float, numbers[0]["text"].split())
    assert updates == shown - 1
    assert 5 <= shown <= seconds / 0.1 + 2


@pytest.mark.slow
def test_a_terminal_shows_the_words_as_they_come(workspace: Workspace, server: ScriptedServer) -> None:
    server.pieces = ["Use \x1b[31m", "Path."]
    code = "from IPython.terminal.interactiveshell import TerminalInteractiveShell as T; s = T.instance()\n"
    code += "s.run_cell('%load_ext cipher_nb'); s.run_cell('%cipher q'); s.run_cell('%cipher --again')"
    run = [sys.executable, "-c", code]
    environment = {**os.environ, "IPYTHONDIR": str(workspace.paths.root / "ipython"), "TERM": "dumb"}
    done = subprocess.run(
        run, cwd=workspace.paths.root, env=environment, capture_output=True, text=True, timeout=60, check=True
    )
    (turn,) = workspace.transcripts.read()
    assert done.stdout.splitlines() == [
        "Use [31mPath.",
        f"(task {turn.task} · adapter base)",
        "cipher: there is no question; write it below %%cipher, or behind %cipher in the same line",
    ]


@pytest.mark.parametrize(
    ("line", "cell", "request_"),
    [
        ("", "  why?\n", Request("why?")),
        ("--task t-1 why?", None, Request("why?", task="t-1")),
        ("--task=t1 --workspace 'my dir'", "why?", Request("why?", task="t1", workspace="my dir")),
        ('--workspace "a b" --again', "why?", Request("why?", again=True, workspace="a b")),
        ("what's --task for?", None, Request("what's --task for?")),
    ],
)
def test_options_come_first_and_the_question_is_kept_word_for_word(
    line: str, cell: str | None, request_: Request
) -> None:
    assert parse_request(line, cell) == request_


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("--task", "--task is unknown or lacks its value"),
        ("--task --again q", "--task is unknown or lacks its value"),
        ("--workspace 'my dir q", "--workspace is unknown or lacks its value"),
        ("--againx q", "--againx is unknown"),
        ("--again --task t1 q", "name two conversations"),
        ("--again", "there is no question"),
    ],
)
def test_wrong_options_are_refused(line: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        parse_request(line, None)


@pytest.mark.parametrize(
    ("markdown", "html"),
    [
        ("<script>x()</script>", "<p>&lt;script&gt;x()&lt;/script&gt;</p>\n"),
        ("a <b onclick=x>b</b> & c", "<p>a &lt;b onclick=x&gt;b&lt;/b&gt; &amp; c</p>\n"),
        (
            "<div>\n**b** $x$\n</div>",
            "<p>&lt;div&gt;\n<strong>b</strong> <span>$</span>x<span>$</span>\n&lt;/div&gt;</p>\n",
        ),
        ("a <!-- b --> &lt;i&gt; <![CDATA[x]]>", "<p>a &lt;!-- b --&gt; &lt;i&gt; &lt;![CDATA[x]]&gt;</p>\n"),
        ("# <b>", "<p><strong>&lt;b&gt;</strong></p>\n"),
        ("`<b>`", "<p><code>&lt;b&gt;</code></p>\n"),
        ('```py" onload="x\n<b> $x\n```', f'<pre style="{BLOCK_STYLE}"><code>&lt;b&gt; $x\n</code></pre>\n'),
        ("[a](javascript:x()) [b](JaVa&#x73;cript:x) [c](data:text/html,x) [d](/logout)", "<p>a b c d</p>\n"),
        ("<javascript:x()>", "<p>javascript:x()</p>\n"),
        (
            '[a](https://b.c/?d="e "f")',
            '<p><a href="https://b.c/?d=%22e" rel="noopener noreferrer" target="_blank">a</a></p>\n',
        ),
        (
            "![pixel](https://spy/?q)",
            '<p><a href="https://spy/?q" rel="noopener noreferrer" target="_blank">[image: pixel]</a></p>\n',
        ),
        ("![x](data:image/svg+xml,x)", "<p>[image: x]</p>\n"),
        ("$HOME \\\\(x\\\\)", "<p><span>$</span>HOME <span>\\</span>(x<span>\\</span>)</p>\n"),
        ("a\x00\x1b\u202eb", "<p>ab</p>\n"),
    ],
)
def test_markdown_of_a_model_does_nothing_by_itself(markdown: str, html: str) -> None:
    assert inert_html(markdown) == html


@pytest.mark.slow
@pytest.mark.model
def test_the_embedded_model_answers_in_a_notebook(embedded_gguf: Path, tmp_path: Path) -> None:
    ws = Workspace.init(tmp_path)
    ws.paths.config.write_text(f"[model]\nname = {json.dumps(str(embedded_gguf))}\n")
    try:
        ((output,),) = executed("%%cipher\nWhat is the capital of France?", folder=tmp_path)
        assert "Paris" in output["data"]["text/html"]
        assert "Paris" in ws.transcripts.read()[0].reply
    finally:
        running = daemon.find(ws.paths.engine)
        if running:
            daemon.retire(running, ws.paths.engine)
