"""Words of the task panel as HTML: untrusted text made visible, counts, times, and the looks they share."""

from __future__ import annotations

from html import escape

MINUS = "\N{MINUS SIGN}"
QUIET = "color:var(--jp-ui-font-color2,#61666d)"
TABLE = "border-collapse:collapse;margin:.2em 0 .6em;line-height:1.5"
NAME = f"text-align:left;vertical-align:top;font-weight:normal;padding:.15em 1.5em .15em 0;white-space:nowrap;{QUIET}"
STATUS = "margin:.5em 0 .3em;padding:.1em 0 .1em .7em;border-left:3px solid #0072b2;line-height:1.5"
WORD = "text-align:left;vertical-align:top;padding:.15em 1.5em .15em 0"
CELL = f"{WORD};overflow-wrap:anywhere"


def plain(text: str) -> str:
    """Return `text` with what prints nothing (control, bidi, zero width) spelled out."""
    return "".join(map(_spelled, text))


def visible(text: str) -> str:
    """Return the same as HTML."""
    return escape(plain(text))


def code(text: str) -> str:
    """Return `text` as code that one click selects."""
    return f'<code style="user-select:all">{visible(text)}</code>'


def one_line(text: str, limit: int = 60) -> str:
    """Return `text` as one plain line of at most `limit` characters."""
    line = plain(" ".join(text.split()))
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


def count(number: int, thing: str) -> str:
    return f"{number:,} {thing}{'s' * (number != 1)}"


def seconds(value: float) -> str:
    return f"{value:.1f} s"


def _spelled(char: str) -> str:
    return char if char.isprintable() or char in "\n\t" else char.encode("unicode_escape").decode("ascii")
