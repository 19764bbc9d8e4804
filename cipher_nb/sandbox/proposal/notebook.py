"""Changing the source of one notebook cell, so that the notebook stays valid and its diff small."""

from __future__ import annotations

import copy
import difflib
import json
import re
import warnings
from typing import Any

from cipher_nb.errors import ProposalError
from cipher_nb.sandbox.proposal.nearest import short
from cipher_nb.sandbox.proposal.text import text_of

NEAREST_CELLS = 3


def with_cell(path: str, data: bytes, *, cell: str, source: str) -> bytes:
    """Return the notebook with another source of the cell whose id is `cell`.

    A changed code cell loses its outputs and its execution count. Indentation, escapes, line ends and the final newline
    stay as they are. ProposalError where the notebook is not valid, before or after, or has no such cell.
    """
    text = text_of(path, data)
    try:
        notebook = json.loads(text.body)
    except ValueError as error:
        raise ProposalError(f"{path} is not JSON ({error}); mend it before its cells can be edited") from error
    _require_valid(path, notebook)
    ends = text.body[len(text.body.rstrip()) :]
    style = _style(text.body, notebook)
    found = _find(path, notebook, cell)
    if _joined(found["source"]) == source:
        return data
    found["source"] = source.splitlines(keepends=True) if isinstance(found["source"], list) else source
    if found["cell_type"] == "code":
        found |= {"execution_count": None, "outputs": []}
    _require_valid(path, notebook)
    return text.packed(json.dumps(notebook, **style) + ends)


def _require_valid(path: str, notebook: object) -> None:
    import nbformat

    if not isinstance(notebook, dict) or not all(
        isinstance(notebook.get(key), int) for key in ("nbformat", "nbformat_minor")
    ):
        raise ProposalError(f"{path} is not a notebook; it does not say its nbformat and nbformat_minor")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what it would mend in the copy
            nbformat.validate(copy.deepcopy(notebook))
    except nbformat.ValidationError as error:
        words = " ".join(str(error.message).split())
        raise ProposalError(f"{path} is not a valid notebook ({words[:200]}); mend it in Jupyter first") from error


def _find(path: str, notebook: dict[str, Any], cell: str) -> dict[str, Any]:
    cells: list[dict[str, Any]] = [each for each in notebook.get("cells", ()) if each.get("id")]
    if not cells:
        made = f"{notebook['nbformat']}.{notebook['nbformat_minor']}"
        raise ProposalError(f"the cells of {path} have no ids (nbformat {made}); save it once in a newer Jupyter")
    found = [each for each in cells if each["id"] == cell]
    if len(found) == 1:
        return found[0]
    if found:
        raise ProposalError(
            f"{len(found)} cells of {path} have the id {cell!r}; save it once in Jupyter to tell them apart"
        )
    by_id = {each["id"]: each for each in cells}
    near = difflib.get_close_matches(cell, by_id, n=NEAREST_CELLS, cutoff=0.0)
    told = ", ".join(f"{name!r} ({short(_first_line(by_id[name]))})" for name in near)
    raise ProposalError(f"{path} has no cell {cell!r}; the nearest ids are {told}")


def _style(body: str, notebook: object) -> dict[str, Any]:
    """Return how the file is written, for json.dumps: the first way that gives it back as it is, else the likeliest."""
    found = re.match(r"\s*\{\r?\n([ \t]*)", body)
    indent = found[1] if found else None
    separators = [(",", ": ")] if found else [(", ", ": "), (",", ":")]
    styles: list[dict[str, Any]] = [
        {"indent": indent, "ensure_ascii": escapes, "separators": pair}
        for pair in separators
        for escapes in (False, True)
    ]
    return next((style for style in styles if json.dumps(notebook, **style) == body.rstrip()), styles[0])


def _first_line(cell: dict[str, Any]) -> str:
    return _joined(cell["source"]).strip().partition("\n")[0]


def _joined(source: str | list[str]) -> str:
    return source if isinstance(source, str) else "".join(source)
