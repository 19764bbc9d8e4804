"""A task as HTML: how it stands, its checks, what waits, and the commands to copy; no widgets here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cipher_nb.cockpit.task_diff_view import diff_html
from cipher_nb.cockpit.task_text import CELL, NAME, QUIET, TABLE, WORD, code, count, seconds, visible
from cipher_nb.tasks import Task

WAITING = {"verified": "verified, not decided", "approved": "approved, not shipped"}
"""The states in which a task waits for the operator, and what the list says of them."""

HELD_IN = {"userns": "user namespaces", "none": "nothing"}

_STATE = "border:1px solid currentColor;border-radius:4px;padding:0 .4em;font-weight:600"
_HEAD = f"text-align:left;font-weight:normal;padding:.15em 1.5em .15em 0;{QUIET}"
_PASSED = '<span style="color:#009e73">✓</span> passed'
_FAILED = '<strong><span style="color:#d55e00">✗</span> FAILED</strong>'


def task_html(task: Task) -> str:
    """Return the task's intent, how it stands and why, and its checks."""
    rows = [
        ("Task", code(task.id)),
        ("Intent", visible(task.intent)),
        ("State", f'<strong style="{_STATE}">{visible(task.status)}</strong> {visible(_told(task))}'),
    ]
    if task.pattern:
        rows.append(("Pattern", visible(task.pattern)))
    if task.commit_sha:
        rows.append(("Commit", code(task.commit_sha)))
    cells = "".join(
        f'<tr><th scope="row" style="{NAME}">{name}</th><td style="{CELL}">{value}</td></tr>' for name, value in rows
    )
    return f'<table style="{TABLE}">{cells}</table>{checks_html(task.checks)}'


def _told(task: Task) -> str:
    match task.status:
        case "failed":
            return f"after {count(task.attempts, 'attempt')}; only a verified change is shown. {task.reason}"
        case "verified":
            return f"in attempt {task.attempts}; the real files are as they were until you approve"
        case "approved":
            return "the change is in the real files, and not committed yet"
        case "shipped":
            return "the change is committed"
        case "undone":
            return "the approval was taken back; the files are as they were before it"
    return task.reason


def checks_html(checks: Sequence[Mapping[str, Any]]) -> str:
    """Return a row for each run of a check: attempt, command, how it ended, how long it took, what held it in."""
    if not checks:
        return f'<p style="{QUIET}">No check has run.</p>'
    names = ("Attempt", "Check", "Result", "Time", "Held in by")
    head = "".join(f'<th scope="col" style="{_HEAD}">{name}</th>' for name in names)
    return f'<table style="{TABLE}"><thead><tr>{head}</tr></thead><tbody>{"".join(map(_check, checks))}</tbody></table>'


def _check(check: Mapping[str, Any]) -> str:
    cells = (
        (CELL, str(check["attempt"])),
        (CELL, code(str(check["command"]))),
        (WORD, _PASSED if check["passed"] else _FAILED),
        (WORD, seconds(float(check["duration_ms"]) / 1000)),
        (WORD, held_in([check])),
    )
    return "<tr>" + "".join(f'<td style="{style}">{cell}</td>' for style, cell in cells) + "</tr>"


def held_in(checks: Sequence[Mapping[str, Any]]) -> str:
    """Return by what the checks were kept from the machine, in words and as HTML."""
    found = dict.fromkeys(str(check.get("isolation", "none")) for check in checks)
    return visible(", ".join(HELD_IN.get(name, name) for name in found))


def change_html(task: Task) -> str:
    """Return a verified task's diff side by side, under a line that names its isolation; nothing for any other."""
    if not task.diff:
        return ""
    last = [check for check in task.checks if check["attempt"] == task.attempts]
    edits = (task.proposal or {}).get("edits", ())
    held = held_in(last)
    open_ = "; the checks could reach the files and the network of this machine" if "nothing" in held else ""
    told = f"The change as it passed {count(len(last), 'check')}, held in by {held}{open_}:"
    return f'<p style="{QUIET};margin:.4em 0">{told}</p>{diff_html(task.diff, edits)}'


def twin_html(task: Task | None, waiting: Sequence[Task]) -> str:
    """Return the same for places where no button works, with the commands to copy."""
    if task is None:
        intro = [("TRY", 'cipher-nb task "what to change" --file PATH --check COMMAND')]
        return _commands(intro) + "".join(f"{task_html(other)}{_commands(_next(other))}" for other in waiting)
    return f"{task_html(task)}{change_html(task)}{_commands(_next(task))}"


def _next(task: Task) -> list[tuple[str, str]]:
    match task.status:
        case "verified":
            return [
                ("APPROVE", f'cipher-nb approve {task.id} --pattern "…"'),
                ("REJECT", f'cipher-nb reject {task.id} --reason "…" --pattern "…"'),
            ]
        case "approved":
            return [("SHIP", f"cipher-nb ship {task.id}"), ("UNDO", f"cipher-nb undo {task.id}")]
    return []


def _commands(rows: Sequence[tuple[str, str]]) -> str:
    cells = "".join(
        f'<tr><th scope="row" style="{NAME}">{name}</th><td style="{CELL}">{code(command)}</td></tr>'
        for name, command in rows
    )
    return f'<table style="{TABLE}">{cells}</table>' if cells else ""


def live_html(said: Sequence[tuple[float, str]], checks: Sequence[Mapping[str, Any]], elapsed_s: float) -> str:
    """Return what happened so far while a task is tried, when, and the checks as they come."""
    steps = "".join(
        f'<tr><td style="{NAME};text-align:right">{seconds(when)}</td><td style="{CELL}">{visible(what)}</td></tr>'
        for when, what in said
    )
    clock = f'<p style="margin:.2em 0">Trying for {seconds(elapsed_s)}</p>'
    return f'{clock}<table style="{TABLE}">{steps}</table>{checks_html(checks) if checks else ""}'
