"""Any two results side by side, as the views of a night show them."""

from __future__ import annotations

from pathlib import Path

import orjson

from cipher_nb.config import settings_as_json
from cipher_nb.errors import ConfigError
from cipher_nb.report.plain import plain, score, signed
from cipher_nb.report.tables import Table
from cipher_nb.report.view import NightView, paired, settings_of
from cipher_nb.workspace import Workspace


def comparison(ws: Workspace, baseline: str = "", candidate: str = "") -> NightView:
    """Return what the gate says of two results: files, or base, production, staged or an adapter's id.

    Both "" stand for what the newest judged night compared; the view is empty where there was none. Raises
    ConfigError when only one is named, NotFoundError or BatteryError when there are no such results.
    """
    if not baseline and not candidate:
        judged = (folder.path for folder in ws.nights() if folder.result("gate"))
        return NightView.load(next(judged, ws.paths.nights / "none-yet"))
    if not baseline or not candidate:
        raise ConfigError(f"baseline {baseline!r} and candidate {candidate!r}: name both, or none for the newest night")
    before, after, report = ws.results(baseline), ws.results(candidate), ws.compare(baseline, candidate)
    return NightView(
        folder=ws.paths.nights / f"{Path(baseline).name} against {Path(candidate).name}",
        gate=orjson.loads(orjson.dumps(report.to_json())),  # lists, as a night's file has them
        answers=paired(before, after),
        asked=settings_of(after) or settings_as_json(ws.config.battery),
        baseline=plain(Path(baseline).name, 24),
    )


def families_table(view: NightView) -> Table:
    """Return a row a family, the biggest fall first."""
    groups: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for answer in view.answers:
        groups.setdefault((answer.category, answer.family), []).append((answer.production, answer.candidate))
    means = {name: [sum(side) / len(pairs) for side in zip(*pairs, strict=True)] for name, pairs in groups.items()}
    order = sorted(means, key=lambda name: (means[name][1] - means[name][0], name))
    return Table(
        head=("Category", "Family", "Samples", view.baseline.capitalize(), "Candidate", "Delta"),
        rows=[
            (
                plain(name[0], 60),
                plain(name[1], 60) or "–",
                f"{len(groups[name]):,}",
                score(means[name][0]),
                score(means[name][1]),
                signed(means[name][1] - means[name][0]),
            )
            for name in order
        ],
        empty="There are no answers to tell apart.",
    )
