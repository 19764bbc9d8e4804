"""How production and the candidates stood from night to night."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from cipher_nb.errors import CipherError
from cipher_nb.files import inside
from cipher_nb.jsonl import parse_object, read_lines
from cipher_nb.report.deltas import Delta, composite, deltas
from cipher_nb.report.plain import one_line
from cipher_nb.report.view import NightView, results_file, text
from cipher_nb.workspace import Workspace


@dataclass(frozen=True)
class NightPoint:
    """One night of the trend; without `composite` where it did not get as far as a comparison.

    `battery` names the questions it asked: scores of nights with different ones cannot be compared. `decision` is
    "applied", "rolled back" or "".
    """

    run_id: str
    verdict: str = ""
    composite: Delta | None = None
    categories: Mapping[str, Delta] = field(default_factory=dict)
    battery: str = ""
    decision: str = ""

    @property
    def day(self) -> str:
        """The day that the night's name tells, `30 Nov`, else the name."""
        return self.moment.partition("\n")[0]

    @property
    def moment(self) -> str:
        """The day, and in a second line the time of day."""
        try:
            began = datetime.strptime(self.run_id[:15], "%Y-%m-%d-%H%M")
        except ValueError:
            return one_line(self.run_id, 10)
        return f"{began.day} {began:%b}\n{began:%H:%M}"


def trend(ws: Workspace) -> list[NightPoint]:
    """Return every night of the workspace, oldest first, also those that failed or never ended."""
    decisions = _decisions(read_lines(ws.paths.audit))
    return [_point(folder.path.name, ws, decisions) for folder in reversed(ws.nights())]


def _point(run_id: str, ws: Workspace, decisions: Mapping[str, str]) -> NightPoint:
    view = NightView.load(ws.paths.nights / run_id, with_answers=False)
    whole = composite(view)
    return NightPoint(
        run_id=run_id,
        verdict=view.verdict,
        composite=whole if whole and None not in (whole.production, whole.candidate) else None,
        categories={row.category: row for row in deltas(view)},
        battery=_battery(view),
        decision=decisions.get(run_id, ""),
    )


def _decisions(audit: Iterable[Mapping[str, object]]) -> dict[str, str]:
    """Return what became of each night's adapter; a rollback takes back what was applied last."""
    decisions: dict[str, str] = {}
    applied: list[str] = []
    for row in audit:
        if row.get("status") != "done":
            continue
        if row.get("action") == "apply":
            applied.append(str(row.get("changelog", "")).partition("@")[0])
            decisions[applied[-1]] = "applied"
        elif row.get("action") == "rollback" and applied:
            decisions[applied.pop()] = "rolled back"
    return decisions


def _battery(view: NightView) -> str:
    """Return the battery's version from the results' first line, which is their header."""
    try:
        with inside(view.folder, results_file(view.battery, "candidate")).open("rb") as file:
            return text(parse_object(file.readline()), "battery_version")
    except (CipherError, OSError):
        return ""


def category_order(points: Sequence[NightPoint]) -> list[str]:
    """Return every category of these nights, in the order of the newest night that has it."""
    return list(dict.fromkeys(name for point in reversed(points) for name in point.categories))
