"""The command that asks the served model."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING

import click

from cipher_nb.cli.output import Output, on_workspace
from cipher_nb.errors import ConfigError
from cipher_nb.records import new_id

if TYPE_CHECKING:
    from cipher_nb.workspace import Workspace

INTERRUPTED = 130


@click.command()
@click.argument("text")
@click.option("--task", default=None, metavar="ID", help="Go on with this conversation.")
@on_workspace
def chat(*, ws: Workspace, out: Output, text: str, task: str | None) -> None:
    """Ask the served model, with the scaffold in its system slot. A TEXT of - is read from standard input.

    The answer is shown as it comes; Ctrl-C stops it, and what was said so far is kept.
    """
    question = _question(text)
    if out.as_json:
        answer = ws.chat(question, task=task)
        known = {"text": answer.text, "task": answer.task, "adapter": answer.turn.adapter}
        out.result({**known, "scaffold": answer.scaffold.text}, answer.text)
    else:
        _stream(ws, out, question, task or new_id(ws.clock()))


def _stream(ws: Workspace, out: Output, question: str, task: str) -> None:
    screen = Screen()
    named = shlex.quote(task)
    try:
        answer = ws.chat(question, task=task, on_text=screen.show)
    except KeyboardInterrupt:
        kept = f"what was said is kept, go on with --task {named}" if screen.last else "nothing was said yet"
        screen.end_line()
        out.say(f"stopped; {kept}")
        sys.exit(INTERRUPTED)
    finally:
        screen.end_line()
    cut = ", cut off by the token limit" if answer.turn.finish == "length" else ""
    out.say(
        f"(task {named}{cut}; go on with --task {named}, approve with: "
        f"cipher-nb event approval task={named} tool=chat pattern='…' summary='…')"
    )


def _question(text: str) -> str:
    question = sys.stdin.buffer.read().decode(errors="replace") if text == "-" else text
    if not question.strip():
        raise ConfigError("there is no question; give it as TEXT, or - and the text on standard input")
    return question


class Screen:
    """Shows text on stdout as it comes. `last` is the last character shown, "" before the first."""

    def __init__(self) -> None:
        self.last = ""

    def show(self, piece: str) -> None:
        """Show `piece` at once, without what a terminal would obey."""
        from cipher_nb.chat import visible

        shown = visible(piece)
        sys.stdout.write(shown)
        sys.stdout.flush()
        self.last = shown[-1:] or self.last

    def end_line(self) -> None:
        """Let what follows begin on a line of its own."""
        if self.last not in ("", "\n"):
            self.show("\n")


COMMANDS = (chat,)
