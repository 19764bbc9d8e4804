"""The command line: each command parses, calls one function and prints. Exit codes stand in `output`."""

from __future__ import annotations

import click

from cipher_nb import __version__
from cipher_nb.cli import battery, bus, chat, context, decisions, machine, nights, work


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, prog_name="cipher-nb")
def main() -> None:
    """Make your own coding assistant better at your work, overnight, and prove it before it is served."""


for module in (machine, bus, context, chat, work, nights, battery, decisions):
    for entry in module.COMMANDS:
        main.add_command(entry)
