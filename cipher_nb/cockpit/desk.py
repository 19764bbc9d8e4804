"""What lies on the operator's desk right now, as data and as HTML; no widgets here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape

from cipher_nb.adapters.changelog import Changelog
from cipher_nb.errors import CipherError
from cipher_nb.files import inside
from cipher_nb.workspace import Workspace

_MONO = "font-family:var(--jp-code-font-family,monospace)"
_QUIET = "color:var(--jp-ui-font-color2,#61666d)"
_TABLE = "border-collapse:collapse;margin:0 0 .8em"
_NAME = f"text-align:left;font-weight:normal;padding:.15em 1.5em .15em 0;{_QUIET}"
_BADGE = "border:1px solid currentColor;border-radius:4px;padding:0 .4em;margin-left:.6em;font-weight:600"
_TEXT = f"{_MONO};white-space:pre-wrap;border-left:3px solid #0072b2;padding:.6em 1em;margin:.4em 0;line-height:1.5"
_FRAME = "width:100%;height:75vh;border:1px solid var(--jp-border-color2,#8886);border-radius:4px"


@dataclass(frozen=True)
class Situation:
    """What is served, what is staged, and the newest changelog, which may be answered already.

    `warnings` say why production or what is staged should not be served, by role.
    """

    production: str
    staged: str
    changelog: Changelog | None
    stale: bool = False
    warnings: Mapping[str, str] = field(default_factory=dict)

    @property
    def pending(self) -> Changelog | None:
        """The changelog that waits for an answer, or None."""
        return self.changelog if self.changelog and self.changelog.status == "pending" else None


def situation(ws: Workspace) -> Situation:
    """Return how things stand, read from disk now."""
    state, changelog = ws.registry.state(), ws.changelog()
    stale = changelog is not None and changelog.stale(ws.clock())
    warnings = {"production": state.warning(state.production), "staged": state.warning(state.staged)}
    return Situation(state.production, state.staged, changelog, stale, warnings)


def state_html(now: Situation) -> str:
    """Return what is served and what waits, and the changelog's text."""
    badge = f'<strong style="{_BADGE}">stale</strong>' if now.stale else ""
    changelog = f"{escape(now.changelog.ref)} ({escape(now.changelog.status)})" if now.changelog else "none yet"
    rows = (
        ("Production", escape(now.production) + _warning_html(now.warnings.get("production", ""))),
        ("Staged", escape(now.staged or "nothing") + _warning_html(now.warnings.get("staged", ""))),
        ("Changelog", changelog + badge),
    )
    cells = "".join(f'<tr><th scope="row" style="{_NAME}">{name}</th><td>{value}</td></tr>' for name, value in rows)
    return f'<table style="{_TABLE}">{cells}</table>{_changelog_html(now)}'


def _warning_html(warning: str) -> str:
    return f'<strong style="{_BADGE}">marked</strong> {escape(warning)}' if warning else ""


def _changelog_html(now: Situation) -> str:
    if now.pending is None:
        return f'<p style="{_QUIET}">Nothing waits for a decision. The next night may put something here.</p>'
    unproven = "The gate could not prove this adapter better." if now.pending.verdict == "INCONCLUSIVE" else ""
    return f'<pre style="{_TEXT}">{escape(now.pending.text())}</pre><p>{unproven}</p>'


def twin_html(now: Situation) -> str:
    """Return the desk for places where no button works: the same state, and the commands to copy."""
    if now.pending is None:
        return state_html(now)
    ref, night = now.pending.ref, now.pending.id
    commands = (
        ("APPLY", f"cipher-nb apply {ref}"),
        ("REVIEW", f"cipher-nb review {night}"),
        ("SKIP", f"cipher-nb skip {ref}"),
    )
    rows = "".join(
        f'<tr><th scope="row" style="{_NAME}">{name}</th>'
        f'<td><code style="user-select:all">{escape(command)}</code></td></tr>'
        for name, command in commands
    )
    return f'{state_html(now)}<table style="{_TABLE}">{rows}</table>'


def review_html(ws: Workspace, changelog: Changelog) -> str:
    """Return the night's page in a frame in which nothing can run, or how to make it when it is not there."""
    try:
        page = inside(ws.paths.nights, f"{changelog.id}/report.html").read_text(encoding="utf-8")
    except (CipherError, OSError, UnicodeDecodeError):
        command = f"cipher-nb report {changelog.id}"
        return f"<p>This night has no readable page; make it with: <code>{escape(command)}</code></p>"
    title = escape(f"Report of night {changelog.id}")
    return f'<iframe sandbox="" title="{title}" style="{_FRAME}" srcdoc="{escape(page)}"></iframe>'
