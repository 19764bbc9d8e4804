"""What stands behind `%%cipher`: options, then the question, word for word."""

from __future__ import annotations

import re
from dataclasses import dataclass

from cipher_nb.errors import ConfigError

_OPTION = re.compile(r"""\s*--(?:(again)(?=\s|$)|(task|workspace)[=\s]\s*("[^"]*"|'[^']*'|[^\s"'-]\S*))""")


@dataclass(frozen=True)
class Request:
    """A question and where it belongs. `task` and `workspace` are "" where they are not given."""

    question: str
    task: str = ""
    again: bool = False
    workspace: str = ""


def parse_request(line: str, cell: str | None) -> Request:
    """Return the request in a magic's line and cell; ConfigError for an unknown option or one without its value.

    Text behind the options goes before the cell's.
    """
    options: dict[str, str] = {}
    while option := _OPTION.match(line):
        again, name, value = option.groups(default="")
        options[again or name], line = value.strip("\"'"), line[option.end() :]
    if line.lstrip().startswith("--"):
        raise ConfigError(
            f"{line.split()[0]} is unknown or lacks its value; known: --task ID, --again, --workspace DIR"
        )
    if "again" in options and "task" in options:
        raise ConfigError("--again and --task name two conversations; give one of them")
    question = f"{line.strip()}\n{cell or ''}".strip()
    if not question:
        raise ConfigError("there is no question; write it below %%cipher, or behind %cipher in the same line")
    return Request(question, options.get("task", ""), "again" in options, options.get("workspace", ""))
