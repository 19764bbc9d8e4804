"""What a night was trained on: what came in and from where, what of it was left out and why, and how much is replay."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from cipher_nb.report.plain import plain
from cipher_nb.report.tables import Table
from cipher_nb.report.view import Part, listed, number, text
from cipher_nb.training.data.dataset import APPROVED, REPLAY, read_header

REASONS_SHOWN = 20
_WORDS = {APPROVED: "approved work", REPLAY: "replay", "rejected": "rejected answers"}


def sources_table(dataset: Path) -> Table:
    """Return where the pairs of a dataset file came from: how many came in, were left out, and are in it."""
    header = read_header(dataset)
    left_out = Counter(text(row, "source") for row in _rows(header, "dropped"))
    rows: list[tuple[str, Sequence[int]]] = []
    for row in _rows(header, "sources"):
        name, came_in, kept = text(row, "source"), _count(row, "came_in"), _count(row, "kept")
        unused = came_in - kept - left_out[name]
        rows.append((_from(name), (came_in, left_out[name], unused, kept)))
    if rows:
        rows.append(("in total", [sum(column) for column in zip(*(counts for _, counts in rows), strict=True)]))
    whole = max(1, _count(header, "pairs"))
    return Table(
        head=("From", "Came in", "Left out", "Not needed", "In the dataset", "Share"),
        rows=[(name, *(f"{count:,}" for count in counts), f"{counts[-1] / whole:.1%}") for name, counts in rows],
        total=bool(rows),
        empty="No dataset was frozen.",
    )


def left_out_table(dataset: Path, *, work: Sequence[Sequence[str]] = ()) -> Table:
    """Return why pairs were left out of a dataset file, the commonest reason first, each with an example.

    Where no dataset was frozen it tells why the operator's `work` was left out, rows of id and reason.
    """
    told = _rows(read_header(dataset), "dropped")
    rows = [(text(row, "source"), text(row, "reason"), text(row, "id")) for row in told]
    rows += [] if dataset.exists() else [(APPROVED, reason, name) for name, reason in work]
    counts = Counter((source, _kind(reason)) for source, reason, _ in rows)
    example = {(source, _kind(reason)): (name, reason) for source, reason, name in reversed(rows)}
    shown = [
        (_from(key[0]), plain(key[1], 80), f"{count:,}", plain(": ".join(example[key]), 160))
        for key, count in counts.most_common(REASONS_SHOWN)
    ]
    if len(counts) > len(shown):
        rest = sum(counts.values()) - sum(count for _, count in counts.most_common(REASONS_SHOWN))
        shown.append(("", f"{len(counts) - len(shown)} further reasons", f"{rest:,}", ""))
    return Table(head=("From", "Why", "Pairs", "For example"), rows=shown, empty="No pair was left out.")


def dataset_summary(dataset: Path) -> str:
    """Return one sentence on what is new and how much is replay, with what there is to note."""
    header = read_header(dataset)
    if not header:
        return "No dataset was frozen."
    pairs, replay = _count(header, "pairs"), _count(header, "replay")
    wanted = number(header, "share") or 0.0
    rejected = _count(header, "rejected")
    told = (
        f"{pairs:,} pairs: {_count(header, 'new'):,} new, {_count(header, 'earlier'):,} of earlier nights, "
        f"{_count(header, 'practice'):,} of practice, {replay:,} of replay "
        f"({replay / max(1, pairs):.1%}, {wanted:.0%} were asked for)"
        f"{f'; beside them, {rejected:,} rejected answers' if rejected else ''}."
    )
    return " ".join([told, *(f"Note: {plain(note, 160)}." for note in listed(header, "notes"))])


def _rows(header: Part, name: str) -> list[Part]:
    return [row for row in listed(header, name) if isinstance(row, dict)]


def _count(row: Part, name: str) -> int:
    return int(number(row, name) or 0)


def _from(source: str) -> str:
    return _WORDS.get(source) or plain(source.replace("practice:", "practice: "), 60)


def _kind(reason: str) -> str:
    """Return a reason without the pair or the words that it names, so that equal ones are counted together."""
    for kind in ("near duplicate", "duplicate"):
        if reason.startswith(f"{kind} of "):
            return f"{kind} of another pair"
    return "shares words with a sealed sample" if reason.startswith("shares ") else reason
