"""A task's diff as HTML: before beside after, with a sign beside every colour; a file is folded by its heading."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any

from cipher_nb.cockpit.task_diff import ALIKE, MAX_COMPARED_CHARS, FileChange, Hunk, Line, Row, file_changes
from cipher_nb.cockpit.task_text import MINUS, QUIET, code, count, visible

OPEN_ROWS = 400

_ADDED, _REMOVED, _MARK_ADDED, _MARK_REMOVED = (
    "background:rgba(0,158,115,.15)",
    "background:rgba(213,94,0,.15)",
    "background:rgba(0,158,115,.4)",
    "background:rgba(213,94,0,.38)",
)
_NOTHING = "background:rgba(128,128,128,.07)"
_FRAME = "border:1px solid var(--jp-border-color2,#8886);border-radius:4px;margin:.4em 0;overflow:hidden"
_HEAD = "padding:.35em .7em;line-height:1.5;overflow-wrap:anywhere"
_TABLE = (
    "width:100%;table-layout:fixed;border-collapse:collapse;margin:0;line-height:1.45;font-size:.92em;"
    "border-top:1px solid var(--jp-border-color2,#8886);font-family:var(--jp-code-font-family,monospace)"
)
_NUMBER = f"text-align:right;vertical-align:top;padding:0 .5em 0 0;user-select:none;{QUIET}"
_SIGN = "text-align:center;vertical-align:top;padding:0;user-select:none;font-weight:700"
_TEXT = "text-align:left;vertical-align:top;padding:0 .5em 0 0;white-space:pre-wrap;overflow-wrap:anywhere"
_GAP = f"text-align:center;padding:.15em;{_NOTHING};{QUIET}"
_SIDE = f"text-align:left;font-weight:normal;padding:.15em .5em .15em 3.4em;{QUIET}"


def diff_html(diff: str, edits: Sequence[Mapping[str, Any]] = ()) -> str:
    """Return the diff side by side. `edits` are the proposal's: of a notebook's cells they say what the JSON hides."""
    return "".join(_file(change, _cells(change, edits)) for change in file_changes(diff))


def _cells(change: FileChange, edits: Sequence[Mapping[str, Any]]) -> list[str]:
    return [f"cell {edit['cell']} rewritten" for edit in edits if edit["op"] == "cell" and edit["path"] == change.path]


def _file(change: FileChange, cells: Sequence[str]) -> str:
    words = [*change.words, *cells, *([] if change.hunks else [_without_lines(change)])]
    told = f' <span style="{QUIET}">{visible(", ".join(words))}</span>' if words else ""
    if not change.hunks:
        return f'<div style="{_FRAME};{_HEAD}">{code(change.path)}{told}</div>'
    size = f'<span style="float:right;margin-left:1em">+{change.added} {MINUS}{change.removed}</span>'
    head = f'<summary style="{_HEAD};cursor:pointer">{size}{code(change.path)}{told}</summary>'
    fold = " open" if sum(len(hunk.rows) for hunk in change.hunks) <= OPEN_ROWS else ""
    return f'<details{fold} style="{_FRAME}">{head}{_table(change.hunks)}</details>'


def _without_lines(change: FileChange) -> str:
    first = change.words[0] if change.words else ""
    if change.binary:
        return "its bytes change and are not shown"
    return "empty" if first.startswith(("new", "deleted")) else "its content stays as it is"


def _table(hunks: Sequence[Hunk]) -> str:
    """Return both sides, or the one there is: of a new file and of a deleted one half the width would be empty."""
    rows = [row for hunk in hunks for row in hunk.rows]
    names = [name for name, side in _SIDES.items() if any(side(row) for row in rows)]
    columns = '<col style="width:3.4em"><col style="width:1.5em"><col>' * len(names)
    head = "".join(f'<th scope="col" colspan="3" style="{_SIDE}">{name}</th>' for name in names)
    body = "".join(
        _gap(hunk.skipped, 3 * len(names)) + "".join(_row(row, names) for row in hunk.rows) for hunk in hunks
    )
    top = f"<colgroup>{columns}</colgroup><thead><tr>{head}</tr></thead>"
    return f'<table style="{_TABLE}">{top}<tbody>{body}</tbody></table>'


_SIDES: Mapping[str, Callable[[Row], Line | None]] = {"before": lambda row: row.old, "after": lambda row: row.new}


def _gap(skipped: int, width: int) -> str:
    words = f"⋯ {count(skipped, 'unchanged line')} ⋯"
    return f'<tr><td colspan="{width}" style="{_GAP}">{words}</td></tr>' if skipped else ""


def _row(row: Row, names: Sequence[str]) -> str:
    texts = dict(zip(_SIDES, _texts(row), strict=True))
    cells = (_side(name, _SIDES[name](row), texts[name], changed=row.changed) for name in names)
    return f"<tr>{''.join(cells)}</tr>"


def _side(name: str, line: Line | None, text: str, *, changed: bool) -> str:
    if line is None:
        return f'<td colspan="3" style="{_NOTHING}"></td>'
    colour, sign = "", ""
    if changed:
        colour, sign = (f";{_REMOVED}", MINUS) if name == "before" else (f";{_ADDED}", "+")
    ending = "" if line.ended else f' <em style="{QUIET}">(no newline at the end)</em>'
    return (
        f'<td style="{_NUMBER}{colour}">{line.number}</td><td style="{_SIGN}{colour}">{sign}</td>'
        f'<td style="{_TEXT}{colour}">{text}{ending}</td>'
    )


def _texts(row: Row) -> tuple[str, str]:
    """Return both texts as HTML; of two that are alike the words that differ are marked."""
    old, new = (row.old.text if row.old else ""), (row.new.text if row.new else "")
    if old.endswith("\r") and new.endswith("\r"):
        old, new = old[:-1], new[:-1]  # a file with CRLF stays one
    if not row.changed or not old or not new or max(len(old), len(new)) > MAX_COMPARED_CHARS:
        return visible(old), visible(new)
    before, after = (re.findall(r"\w+|\s+|.", text) for text in (old, new))
    match = SequenceMatcher(None, before, after, autojunk=False)
    if match.ratio() < ALIKE:
        return visible(old), visible(new)
    steps = match.get_opcodes()
    return (
        "".join(_marked(before[i:j], _MARK_REMOVED, plain=tag == "equal") for tag, i, j, _, _ in steps),
        "".join(_marked(after[i:j], _MARK_ADDED, plain=tag == "equal") for tag, _, _, i, j in steps),
    )


def _marked(words: Sequence[str], colour: str, *, plain: bool) -> str:
    text = visible("".join(words))
    return text if plain or not text else f'<span style="{colour};border-radius:2px">{text}</span>'
