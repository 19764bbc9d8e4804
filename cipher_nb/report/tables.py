"""Tables for people: the deltas of a night, and anything else in rows of text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from cipher_nb.report.deltas import Delta, composite, deltas
from cipher_nb.report.plain import MINUS, plain, score, signed
from cipher_nb.report.view import NightView

if TYPE_CHECKING:
    import pandas as pd

NUMERIC = frozenset("0123456789.,%+–" + MINUS)

_STYLE = (
    "border-collapse:collapse;font-variant-numeric:tabular-nums",
    "text-align:left;padding:.35em 1.1em .35em 0;border-bottom:1px solid #8886;overflow-wrap:anywhere",
    "text-align:right;padding:.35em 1.1em .35em 0;border-bottom:1px solid #8886;white-space:nowrap",
)


@dataclass(frozen=True)
class Table:
    """Rows of text under headings; Jupyter and the page show it as escaped HTML, a terminal as text.

    With `total` the last row sums up the others.
    """

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    total: bool = False
    empty: str = "nothing to show"

    def html(self, *, styled: bool = False) -> str:
        """Return a table element; the first cell of a row is its heading. `styled` carries its looks along."""
        if not self.rows:
            return f"<p>{escape(self.empty)}</p>"
        right = [all(NUMERIC.issuperset(row[column]) for row in self.rows) for column in range(len(self.head))]
        cells = _Cells(right, styled=styled)
        head = "".join(cells.one("th", column, name, scope="col") for column, name in enumerate(self.head))
        body = "".join(f"<tr>{cells.row(row)}</tr>" for row in self.rows)
        if self.total:
            body = '<tr class="whole">'.join(body.rsplit("<tr>", 1))
        look = f' style="{_STYLE[0]}"' if styled else ""
        return f"<table{look}><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"

    def _repr_html_(self) -> str:
        return self.html(styled=True)

    def __repr__(self) -> str:
        if not self.rows:
            return self.empty
        lines = [self.head, *self.rows]
        widths = [max(len(line[column]) for line in lines) for column in range(len(self.head))]
        return "\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in lines)


@dataclass(frozen=True)
class _Cells:
    right: Sequence[bool]
    styled: bool

    def one(self, tag: str, column: int, content: str, *, scope: str = "") -> str:
        attributes = f' scope="{scope}"' if scope else ""
        if self.styled:
            whole = ";overflow-wrap:normal" if scope == "col" else ""
            attributes += f' style="{_STYLE[1 + self.right[column]]}{whole}"'
        elif self.right[column]:
            attributes += ' class="number"'
        return f"<{tag}{attributes}>{escape(content)}</{tag}>"

    def row(self, row: Sequence[str]) -> str:
        first, *others = row
        rest = "".join(self.one("td", column, cell) for column, cell in enumerate(others, start=1))
        return self.one("th", 0, first, scope="row") + rest


def deltas_frame(view: NightView) -> pd.DataFrame:
    """Return a row a category, in the order of the table, with both bounds."""
    import pandas as pd

    columns = ["category", "n", "production", "candidate", "delta", "lower_bound", "upper_bound", "word"]
    rows = [[getattr(row, column) for column in columns] for row in deltas(view)]
    return pd.DataFrame(rows, columns=columns)


def deltas_table(view: NightView) -> Table:
    """Return the same rows for people to read, the composite last."""
    whole = composite(view)
    return Table(
        head=("Category", "Samples", view.baseline.capitalize(), "Candidate", "Delta", "At least", "In words"),
        rows=[_delta_row(row) for row in (*deltas(view), *([whole] if whole else []))],
        total=whole is not None,
        empty="The battery did not get so far that there is anything to compare.",
    )


def _delta_row(row: Delta) -> tuple[str, ...]:
    scores = (score(row.production), score(row.candidate), signed(row.delta), signed(row.lower_bound))
    return plain(row.category, 60), f"{row.n:,}", *scores, row.word
