"""The IPython magic: after `%load_ext cipher_nb`, `%%cipher` puts the cell's text to the served model."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from cipher_nb.chat import Answer
from cipher_nb.errors import CipherError, ConfigError
from cipher_nb.magic.request import Request, parse_request
from cipher_nb.magic.view import view_for
from cipher_nb.records import new_id
from cipher_nb.workspace import Workspace

_QUESTION = re.compile(r"^([ \t]*)%cipher[ \t]+(\S.*\?)[ \t]*$")


def register(ipython: Any) -> None:
    """Add `%cipher` and `%%cipher` to an IPython session."""
    from IPython.core.magic import no_var_expand

    session = Session(ipython)

    def cipher(line: str, cell: str | None = None) -> None:
        """Ask the served model: %%cipher [--task ID | --again] [--workspace DIR], and the question in the cell.

        In one line: %cipher QUESTION. --again goes on with this notebook's last conversation, --task with a named one.
        The answer is shown as it comes, and stands in `cipher_answer` afterwards. Interrupting keeps what was said.
        """
        with _errors_in_one_line():
            session.ask(parse_request(line, cell))

    ipython.register_magic_function(no_var_expand(cipher), "line_cell", "cipher")
    ipython.input_transformers_cleanup.append(_keep_question_marks)


def _keep_question_marks(lines: list[str]) -> list[str]:
    """Keep IPython from taking `%cipher why?` as a call for its own help."""
    if lines and lines[0].startswith("%%"):
        return lines
    call = "{}get_ipython().run_line_magic('cipher', {!r})"
    return [_QUESTION.sub(lambda found: call.format(*found.groups()), line) for line in lines]


class Session:
    """What one IPython session asked: its last conversation, and the workspaces it opened."""

    def __init__(self, ipython: Any) -> None:
        self._ipython = ipython
        self._last: tuple[str, str] | None = None
        self._opened: dict[Workspace, Workspace] = {}

    def ask(self, request: Request) -> None:
        """Show the answer as it comes and leave it in `cipher_answer`."""
        where, task = self._conversation(request)
        ws = Workspace.open(where)
        ws = self._opened.setdefault(ws, ws)  # one with these settings has read the bus already
        task = task or new_id(ws.clock())
        view = view_for(self._ipython)
        try:
            answer = ws.chat(request.question, task=task, on_text=view.add)
        except KeyboardInterrupt:
            if view.text:
                self._last = (str(ws.paths.root), task)
                view.end((f"task {task}", "stopped, and kept as far as it goes"))
            raise
        except CipherError:
            if view.text:
                view.end(("not recorded",))
            raise
        self._last = (str(ws.paths.root), task)
        self._ipython.user_ns["cipher_answer"] = answer
        view.end(_footer(answer))

    def _conversation(self, request: Request) -> tuple[str, str]:
        """Return the workspace's folder and the task to go on with, "" for a new one."""
        if not request.again:
            return request.workspace or ".", request.task
        if self._last is None:
            raise ConfigError("--again: this kernel has asked nothing yet; ask without it, or name a --task")
        where, task = self._last
        return request.workspace or where, task


def _footer(answer: Answer) -> tuple[str, ...]:
    cut = ("cut off by the token limit",) if answer.turn.finish == "length" else ()
    return f"task {answer.task}", f"adapter {answer.turn.adapter}", *cut


@contextmanager
def _errors_in_one_line() -> Iterator[None]:
    try:
        yield
    except (CipherError, OSError) as error:
        _render_as(error, f"cipher: {error}")
        raise
    except KeyboardInterrupt as error:
        _render_as(error, "cipher: stopped")
        raise


def _render_as(error: BaseException, line: str) -> None:
    error._render_traceback_ = lambda: [line]  # type: ignore[attr-defined]  # IPython shows it in place of a traceback
