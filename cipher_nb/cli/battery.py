"""Commands that measure: the battery, and the gate that compares two of its results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from cipher_nb.cli.output import Output, on_workspace, plain, table

if TYPE_CHECKING:
    from cipher_nb.battery.calibration.calibrate import Calibrated
    from cipher_nb.battery.calibration.creep import Crept
    from cipher_nb.battery.samples import Scorer, Side
    from cipher_nb.workspace import Workspace


@click.group()
def battery() -> None:
    """The battery: what the gate asks."""


@battery.command("run")
@click.option("--adapter", default="production", show_default=True, help="base, production, staged or an adapter's id.")
@click.option("--per-category", default=None, type=click.IntRange(min=1), help="Default: cipher.toml.")
@on_workspace
def battery_run(*, ws: Workspace, out: Output, adapter: str, per_category: int | None) -> None:
    """Ask the battery of an adapter; what was asked before is not asked again."""
    from cipher_nb.cli.progress import counting
    from cipher_nb.night.questions import questions

    with counting(f"battery of {adapter}") as show:
        everything = ws.measure(adapter, per_category=per_category, on_progress=show)
    pinned = questions(ws.config, ws.paths).pinned
    results, must_pass = everything.without(pinned), everything.only(pinned)
    data = {
        "fingerprint": everything.header.fingerprint if everything.header else "",
        "categories": results.category_scores(),
        "families": results.family_scores(),
        "composite": results.composite(),
        "must_pass": {row.sample: row.score for row in must_pass.rows},
        "unscored": len(everything.unscored),
    }
    out.result(data, _scored(data))
    if everything.unscored:
        out.say(f"{len(everything.unscored)} samples are unscored: {everything.unscored[0].error}")
        out.unknown()


def _scored(data: Mapping[str, Any]) -> str:
    lowest_first = sorted(data["categories"].items(), key=lambda row: row[1])
    rows = [(name, f"{score:.3f}") for name, score in (*lowest_first, ("composite", data["composite"]))]
    rows += [
        (f"must pass: {name}", "unscored" if score is None else f"{score:g}")
        for name, score in data["must_pass"].items()
    ]
    return table(rows, empty="")


@battery.command("list")
@on_workspace
def battery_list(*, ws: Workspace, out: Output) -> None:
    """List the categories, their families and how many samples the gate asks."""
    from cipher_nb.night.questions import questions

    counts: dict[tuple[str, str], int] = {}
    for sample in questions(ws.config, ws.paths).all():
        counts[sample.category, sample.family] = counts.get((sample.category, sample.family), 0) + 1
    data = [{"category": name, "family": family, "samples": count} for (name, family), count in counts.items()]
    out.result(data, table([tuple(row.values()) for row in data], empty="none"))


@battery.command("show")
@click.argument("category", default="")
@click.option("--per-family", default=3, show_default=True, type=click.IntRange(min=1))
@click.option("--side", default="sealed", show_default=True, type=click.Choice(["sealed", "practice"]))
@plain
def battery_show(*, out: Output, category: str, per_family: int, side: Side) -> None:
    """Show a few samples of every family, of one CATEGORY or of all."""
    from cipher_nb.report.sheets import sheets

    found = sheets(category, per_family=per_family, side=side)
    out.result([sheet.to_json() for sheet in found], "\n\n".join(sheet.text() for sheet in found))


@battery.command("pin")
@click.argument("task")
@click.option("--scorer", type=click.Choice(["exact", "normalised", "json", "schema", "regex", "numeric", "code"]))
@click.option("--target", help="What the scorer holds an answer against. Default: the approved answer.")
@on_workspace
def battery_pin(*, ws: Workspace, out: Output, task: str, scorer: Scorer | None, target: str | None) -> None:
    """Make an approved task a must-pass sample, which no candidate may lose."""
    from cipher_nb.night.pinning import pin_task

    row = pin_task(ws.parts, task, scorer=scorer, target=target)
    out.result(row, f"pinned {task}: {row['metadata']['scorer']} {row['target']}")


@battery.command("unpin")
@click.argument("task")
@on_workspace
def battery_unpin(*, ws: Workspace, out: Output, task: str) -> None:
    """Let a task be a must-pass sample no longer."""
    from cipher_nb.night.pinning import unpin_task

    was_pinned = unpin_task(ws.parts, task)
    out.result(
        {"task": task, "was_pinned": was_pinned},
        f"{task} {'is not pinned any more' if was_pinned else 'was not pinned'}",
    )


@battery.command("calibrate")
@click.option("--trials", default=1000, show_default=True, type=click.IntRange(min=1), help="Simulated nights a row.")
@click.option("--size", "sizes", multiple=True, type=click.IntRange(min=1), help="Samples a category; may be repeated.")
@click.option("--changed", multiple=True, type=click.FloatRange(0.0, 1.0), help="Share of samples that change.")
@click.option("--categories", default=None, type=click.IntRange(min=2), help="Default: as many as the battery has.")
@plain
def battery_calibrate(
    *, out: Output, trials: int, sizes: tuple[int, ...], changed: tuple[float, ...], categories: int | None
) -> None:
    """Simulate nights whose truth is known and say how often the gate is right, beside the bare rule.

    With the defaults it takes about ten minutes.
    """
    from tqdm import tqdm

    from cipher_nb.battery.calibration.calibrate import CASES, CHANGED, SIZES, calibrate
    from cipher_nb.battery.calibration.creep import creep
    from cipher_nb.battery.families import CATEGORIES

    sizes, changed = sizes or SIZES, changed or CHANGED
    rows = calibrate(categories=categories or len(CATEGORIES), trials=trials, sizes=sizes, changed=changed)
    found = list(tqdm(rows, desc="calibrate", total=len(sizes) * len(changed) * len(CASES), unit="row"))
    crept = [
        creep(n=n, changed=share, anchored=anchored) for n in sizes for share in changed for anchored in (False, True)
    ]
    out.result(
        {"gate": [{**asdict(row), "holds": row.holds} for row in found], "creep": [asdict(row) for row in crept]},
        f"{_calibrated(found)}\n\n{_crept(crept)}",
    )
    if any(row.holds is False for row in found):
        out.no()


def _calibrated(rows: Sequence[Calibrated]) -> str:
    from cipher_nb.battery.calibration.calibrate import CASES

    head = ("truth", "called", "goal", "n", "changed", "once", "early", "bare rule", "asked early", "")
    body = [
        (
            row.case.name,
            row.case.called,
            f"<= {row.case.most:.0%}" if row.case.most is not None else f">= {row.case.least:.0%}",
            str(row.n),
            f"{row.changed:.0%}",
            *(f"{share:.1%}" for share in (row.once, row.early, row.rule, row.asked)),
            {True: "holds", False: "FAILS", None: "(full size only)"}[row.holds],
        )
        for row in sorted(rows, key=lambda row: (CASES.index(row.case), row.n, row.changed))
    ]
    return table([head, *body], empty="")


def _crept(rows: Sequence[Crept]) -> str:
    head = ("30 nights of -0.02 in one category", "n", "changed", "nights accepted", "true drop, mean", "worst")
    body = [
        (
            "rule and anchors" if row.anchored else "bare rule",
            str(row.n),
            f"{row.changed:.0%}",
            f"{row.accepted:.1f}",
            f"{row.mean_drop:.3f}",
            f"{row.worst_drop:.2f}",
        )
        for row in rows
    ]
    return table([head, *body], empty="")


@click.command()
@click.argument("baseline")
@click.argument("candidate")
@on_workspace
def gate(*, ws: Workspace, out: Output, baseline: str, candidate: str) -> None:
    """Compare two results: files, or base, production, staged or an adapter's id."""
    data = ws.compare(baseline, candidate).to_json()
    rows = [(row["category"], _signed(row["delta"])) for row in data["rule"]["categories"]]
    rule = "passed" if data["rule"]["passed"] else f"failed: {data['rule']['reason']}"
    out.result(data, f"{table(rows, empty='')}\nrule: {rule}\nverdict: {data['verdict']} ({data['reason']})")
    if data["verdict"] == "COULD_NOT_RUN":
        out.unknown()
    if data["verdict"] == "REGRESSION" or not data["rule"]["passed"]:
        out.no()


def _signed(delta: float | None) -> str:
    return "not scored" if delta is None else f"{delta:+.3f}"


COMMANDS = (battery, gate)
