"""The small figures of a night, as (name, value) pairs for people."""

from __future__ import annotations

from collections import Counter

from cipher_nb.report.plain import duration, moment, plain, score, seconds_between
from cipher_nb.report.tables import Table
from cipher_nb.report.view import NightView, Part, listed, number, section, text

Fact = tuple[str, str]
REASONS_SHOWN = 12
_SETTINGS = ("rank", "alpha", "lr", "epochs", "batch_size", "replay_share", "seed", "load_in_4bit")


def dataset_facts(view: NightView) -> list[Fact]:
    """Return what the dataset of the night is made of, and how it came about."""
    collect = view.collect
    return _known(
        ("Events looked at", _count(collect, "events")),
        ("Looked back to", moment(text(collect, "since"))),
        ("New pairs of approved work", _count(collect, "new_pairs")),
        ("Approved pairs in the dataset", _count(collect, "kept_pairs")),
        ("Of them from earlier nights", _count(collect, "earlier_pairs")),
        ("Rejected answers", _count(collect, "rejected_pairs")),
        ("Practice pairs", _count(collect, "practice_pairs")),
        ("Replay pairs", _share(collect, "replay_pairs")),
        ("In total", _count(collect, "total")),
        ("Left out", f"{len(listed(collect, 'dropped')):,}"),
    )


def weak_table(view: NightView) -> Table:
    """Return the categories that failed, how, and the practice pairs that answer it."""
    rows = [row for row in listed(view.collect, "weak") if isinstance(row, dict)]
    return Table(
        head=("Category", "Score in production", "Failure", "Practice pairs"),
        rows=[
            (
                plain(text(row, "category"), 60),
                score(number(row, "score")),
                plain(text(row, "failure"), 80) or "–",
                _count(row, "pairs"),
            )
            for row in rows
        ],
        empty="No category failed.",
    )


def dropped_table(view: NightView) -> Table:
    """Return the reasons why pairs were left out, the commonest first, with one example each."""
    dropped = [row for row in listed(view.collect, "dropped") if isinstance(row, list) and len(row) == 2]
    counts = Counter(str(reason) for _, reason in dropped)
    example = {str(reason): str(pair) for pair, reason in reversed(dropped)}
    rows = [
        (plain(reason, 160), f"{count:,}", plain(example[reason], 60))
        for reason, count in counts.most_common(REASONS_SHOWN)
    ]
    more = len(counts) - REASONS_SHOWN
    if more > 0:
        rows.append((f"{more} further reasons", f"{sum(counts.values()) - _shown(counts):,}", ""))
    return Table(head=("Reason", "Pairs", "For example"), rows=rows, empty="No pair was left out.")


def _shown(counts: Counter[str]) -> int:
    return sum(count for _, count in counts.most_common(REASONS_SHOWN))


def training_facts(view: NightView) -> list[Fact]:
    """Return how the training went."""
    train = view.train
    quantised = (train or {}).get("quantised")
    weights = {True: "4-bit NF4", False: "as served"}.get(quantised, "") if isinstance(quantised, bool) else ""
    return _known(
        ("Steps", _count(train, "steps")),
        ("Tokens", _count(train, "tokens")),
        ("Time", duration(number(train, "seconds"))),
        ("Base weights", weights),
        ("Pairs too long to train on", _count(train, "dropped_long")),
    )


def provenance_facts(view: NightView) -> list[Fact]:
    """Return what is needed to find everything behind this page again."""
    settings = section(view.train, "settings")
    used = ", ".join(f"{name} {plain(settings[name], 40)}" for name in _SETTINGS if name in settings)
    size = number(view.export, "bytes")
    return _known(
        ("Night", plain(view.run_id, 80)),
        ("Status", plain(view.status, 40)),
        ("Adapter", plain(view.adapter, 80)),
        ("Adapter file", f"{size / 1e6:.1f} MB" if size is not None else ""),
        ("Compared with", plain(text(view.battery, "production") or text(view.collect, "production"), 80)),
        ("Samples asked", _count(view.battery, "samples")),
        ("Battery took", duration(number(view.battery, "seconds"))),
        ("Began", moment(text(view.night, "started"))),
        ("Ended", moment(text(view.night, "finished"))),
        ("Took", duration(seconds_between(text(view.night, "started"), text(view.night, "finished")))),
        ("Training settings", used),
        ("Changelog", plain(text(view.changelog, "ref"), 120)),
    )


def _known(*facts: Fact) -> list[Fact]:
    return [(name, value) for name, value in facts if value]


def _count(part: Part | None, key: str) -> str:
    value = number(part, key)
    return "" if value is None else f"{value:,.0f}"


def _share(part: Part | None, key: str) -> str:
    value, total = number(part, key), number(part, "total")
    if value is None:
        return ""
    return f"{value:,.0f} ({value / total:.0%})" if total else f"{value:,.0f}"
