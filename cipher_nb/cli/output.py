"""What every command shares: --workspace, --json, and exit codes.

0 done; 1 the answer is no (checks failed, the gate says no, not idle); 2 wrong use; 3 could not find out.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

import click
import orjson

from cipher_nb.errors import CipherError, ConfigError, DecisionError, NotFoundError

if TYPE_CHECKING:
    from cipher_nb.workspace import Workspace

WRONG_USE = (ConfigError, NotFoundError, DecisionError)


@dataclass(frozen=True)
class Output:
    """Where a command's result goes: text for people, or one JSON document and nothing else."""

    as_json: bool

    def result(self, data: Any, text: str) -> None:
        """Print the command's one result, in the form that was asked for."""
        if self.as_json:
            sys.stdout.write(orjson.dumps(data, option=orjson.OPT_INDENT_2, default=str).decode() + "\n")
        else:
            click.echo(text)

    def say(self, text: str) -> None:
        """Tell people what is going on; never on stdout."""
        click.echo(text, err=True)

    def no(self) -> NoReturn:
        """End with 1: the question was answered, and the answer is no."""
        sys.exit(1)

    def unknown(self) -> NoReturn:
        """End with 3: no answer could be had, and the printed result says why."""
        sys.exit(3)


def plain(function: Callable[..., None]) -> Callable[..., None]:
    """Give a command `--json` and turn errors into one line and an exit code."""

    @click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
    @functools.wraps(function)
    def command(*args: Any, as_json: bool, **options: Any) -> None:
        try:
            function(*args, out=Output(as_json), **options)
        except CipherError as error:
            click.echo(f"cipher-nb: {error}", err=True)
            sys.exit(2 if isinstance(error, WRONG_USE) else 3)
        except BrokenPipeError:  # whoever read our output has seen enough
            raise
        except OSError as error:
            click.echo(f"cipher-nb: {error.filename or 'the system'}: {error.strerror or error}", err=True)
            sys.exit(3)

    return command


def on_workspace(function: Callable[..., None]) -> Callable[..., None]:
    """Give a command `--workspace` and `--json`, and hand it the opened workspace as `ws`."""

    @click.option("--workspace", default=".", metavar="DIR", help="Default: the nearest .aide/ upwards.")
    @functools.wraps(function)
    def command(*args: Any, workspace: str, **options: Any) -> None:
        from cipher_nb.workspace import Workspace

        function(*args, ws=_open(Workspace, workspace), **options)

    return plain(command)


def _open(kind: type[Workspace], where: str) -> Workspace:
    return kind.open(where)


def table(rows: list[tuple[Any, ...]], *, empty: str) -> str:
    """Lay rows out in columns; `empty` stands in for no rows."""
    if not rows:
        return empty
    cells = [[str(cell) for cell in row] for row in rows]
    widths = [max(len(row[column]) for row in cells) for column in range(len(cells[0]))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells
    )
