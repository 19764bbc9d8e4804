"""The page of a night: one HTML file that asks nothing of any network."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cipher_nb.errors import CipherError
from cipher_nb.files import write_atomic
from cipher_nb.report import facts, guards, story
from cipher_nb.report.answers import improvements, regressions
from cipher_nb.report.charts import category_picture
from cipher_nb.report.deltas import deltas
from cipher_nb.report.judged import judged
from cipher_nb.report.loss_chart import loss_picture, losses
from cipher_nb.report.plain import plain
from cipher_nb.report.tables import deltas_table
from cipher_nb.report.view import STAGES, NightView, listed

ANSWERS_SHOWN = 5
LINES_SHOWN = 40


def write(folder: Path) -> Path:
    """Make `report.html` of the night in `folder`, however far it came, and return where it is.

    Raises CipherError when the file cannot be written.
    """
    path = folder / "report.html"
    try:
        write_atomic(path, render(NightView.load(folder)))
    except OSError as error:
        raise CipherError(f"the page {path} could not be written ({error.strerror}); free space and run: "
                          f"cipher-nb report {folder.name}") from error  # fmt: skip
    return path


def render(view: NightView) -> str:
    """Return the page as one HTML document."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("cipher_nb.report", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("page.html.j2").render(_content(view))


@dataclass(frozen=True)
class _Stage:
    name: str
    done: bool


def _content(view: NightView) -> dict[str, Any]:
    headline, told = story.headline(view), story.outcome(view)
    return {
        "title": f"{headline.verdict} · night {plain(view.run_id, 80)} · cipher-nb",
        "eyebrow": story.eyebrow(view),
        "headline": headline,
        "decision": story.decision(view),
        "outcome": told,
        "stages": [_Stage(name, name in view.finished) for name in STAGES] if told and view.unfinished else [],
        **_compared(view),
        **_trained(view),
        "provenance": facts.provenance_facts(view),
        "broken": view.broken,
    }


def _compared(view: NightView) -> dict[str, Any]:
    compared = bool(deltas(view))
    return {
        "judged": judged(view),
        "cost": guards.cost_facts(view),
        "overfit": guards.overfit_table(view),
        "leaked": guards.leaked_table(view),
        "chart": category_picture(view).html() if compared else "",
        "table": deltas_table(view).html() if compared else "",
        "worse": regressions(view, ANSWERS_SHOWN),
        "better": improvements(view, ANSWERS_SHOWN),
        "changed": _how_many(view),
    }


def _how_many(view: NightView) -> str:
    worse = sum(answer.delta < 0 for answer in view.answers)
    better = sum(answer.delta > 0 for answer in view.answers)
    return f"Of {len(view.answers):,} answers, {better:,} got better and {worse:,} got worse. The clearest of them:"


def _trained(view: NightView) -> dict[str, Any]:
    new = set(map(str, listed(view.collect, "learned_new")))
    lines = [str(line) for line in listed(view.collect, "learned")]
    return {
        "collected": view.collect is not None,
        "learned": [(plain(line, 200), line.removeprefix("[learned] ") in new) for line in lines[:LINES_SHOWN]],
        "dataset": facts.dataset_facts(view),
        "weak": facts.weak_table(view),
        "dropped": facts.dropped_table(view),
        "training": facts.training_facts(view),
        "loss": loss_picture(view).html() if losses(view) else "",
    }
