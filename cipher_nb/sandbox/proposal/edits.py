"""A proposal: the edits a model or an operator wants, read from JSON and refused by name where it is not one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import PurePosixPath
from typing import Any

from cipher_nb.errors import ProposalError
from cipher_nb.sandbox.proposal.blocks import find_blocks, has_blocks


@dataclass(frozen=True)
class Write:
    """The whole file, new or replaced."""

    path: str
    text: str


@dataclass(frozen=True)
class Replace:
    """One passage of a file; `search` must be found exactly once. An empty one makes a file that is not there yet."""

    path: str
    search: str
    replace: str


@dataclass(frozen=True)
class Delete:
    path: str


@dataclass(frozen=True)
class Rename:
    path: str
    to: str


@dataclass(frozen=True)
class Patch:
    """A unified diff of one file, which must fit exactly."""

    path: str
    diff: str


@dataclass(frozen=True)
class Mode:
    """The executable bit: `mode` is "755" or "644"."""

    path: str
    mode: str


@dataclass(frozen=True)
class Cell:
    """The source of one notebook cell; `cell` is its id."""

    path: str
    cell: str
    source: str


Edit = Write | Replace | Patch | Delete | Rename | Mode | Cell
Kind = type[Write] | type[Replace] | type[Patch] | type[Delete] | type[Rename] | type[Mode] | type[Cell]

OPS: Mapping[str, Kind] = {
    "write": Write,
    "replace": Replace,
    "delete": Delete,
    "rename": Rename,
    "cell": Cell,
    "mode": Mode,
    "patch": Patch,
}
MODES = ("755", "644")


@dataclass(frozen=True)
class Proposal:
    """Edits in the order they apply, and the checks that the proposal asks for itself."""

    intent: str
    edits: tuple[Edit, ...]
    checks: tuple[str, ...] = ()

    def touched(self) -> tuple[str, ...]:
        """Return every path that an edit names, once, in order."""
        paths = [path for edit in self.edits for path in (edit.path, *((edit.to,) if isinstance(edit, Rename) else ()))]
        return tuple(dict.fromkeys(paths))

    def to_json(self) -> dict[str, Any]:
        edits = [{"op": _op_of(edit), **asdict(edit)} for edit in self.edits]
        return {"intent": self.intent, "checks": list(self.checks), "edits": edits}


def _op_of(edit: Edit) -> str:
    return next(op for op, kind in OPS.items() if type(edit) is kind)


def _edit_schema(op: str) -> dict[str, Any]:
    names = [field.name for field in fields(OPS[op])]
    return {
        "type": "object",
        "properties": {"op": {"const": op}, **{name: _field_schema(name) for name in names}},
        "required": ["op", *names],
        "additionalProperties": False,
    }


def _field_schema(name: str) -> dict[str, Any]:
    return {"enum": list(MODES)} if name == "mode" else {"type": "string"}


PROPOSAL_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "intent": {"type": "string"},
        "checks": {"type": "array", "items": {"type": "string"}},
        "edits": {"type": "array", "minItems": 1, "items": {"anyOf": [_edit_schema(op) for op in OPS]}},
    },
    "required": ["intent", "edits"],
    "additionalProperties": False,
}
"""The JSON schema of a proposal; a model asked with it can only answer in this form."""


def parse_proposal(text: str) -> Proposal:
    """Return the proposal in `text`: bare JSON, JSON in a ```json fence with prose around it, or search/replace blocks.

    Raises ProposalError naming the place, the value and what to send instead.
    """
    return proposal_from_json({"edits": find_blocks(text)} if _is_in_blocks(text) else _decode(text))


def proposal_from_json(value: object) -> Proposal:
    """Return the proposal that `value`, already decoded, describes; raises ProposalError as parse_proposal does."""
    if not isinstance(value, dict):
        raise ProposalError(f'a proposal is a JSON object, not {_short(value)}; send {{"intent": …, "edits": […]}}')
    _refuse_unknown("proposal", value, ("intent", "checks", "edits"))
    edits, checks = value.get("edits"), value.get("checks", [])
    if not isinstance(edits, list) or not edits:
        raise ProposalError(f"edits is {_short(edits)}; send a list with at least one edit")
    if not isinstance(checks, list):
        raise ProposalError(f"checks is {_short(checks)}; send a list of commands")
    return Proposal(
        intent=_text("intent", value.get("intent", "")).strip(),
        edits=tuple(_edit(f"edits[{index}]", edit) for index, edit in enumerate(edits)),
        checks=tuple(_text(f"checks[{index}]", check) for index, check in enumerate(checks)),
    )


def _is_in_blocks(text: str) -> bool:
    """Tell blocks from JSON whose texts hold such marks: there a mark never begins a line."""
    if not has_blocks(text):
        return False
    try:
        value = _decode(text)
    except ProposalError:
        return True
    return not (isinstance(value, dict) and "edits" in value)


def _decode(text: str) -> object:
    body = text.lstrip()
    if not body.startswith(("{", "[")):
        body = body[max(body.find("```"), 0) :]
    start = body.find("{")
    if start < 0:
        raise ProposalError(f"no JSON in {_short(text)}; send one JSON object with intent and edits")
    try:
        value, _ = json.JSONDecoder().raw_decode(body, start)
    except json.JSONDecodeError as error:
        cut_off = error.msg.startswith("Unterminated") or error.pos >= len(body.rstrip())
        where = "it ends early, send smaller edits" if cut_off else f"near {body[error.pos : error.pos + 20]!r}"
        raise ProposalError(f"the JSON is broken ({error.msg}: {where}); send one whole JSON object") from error
    except (RecursionError, ValueError) as error:
        raise ProposalError("the JSON is nested too deep or holds a number that is none; send plain edits") from error
    return value


def _edit(where: str, value: object) -> Edit:
    if not isinstance(value, dict):
        raise ProposalError(f"{where} is {_short(value)}; send an object with op and path")
    op = value.get("op")
    kind = OPS.get(op) if isinstance(op, str) else None
    if kind is None:
        raise ProposalError(f"{where}.op {_short(op)} is unknown; use one of {', '.join(OPS)}")
    names = [field.name for field in fields(kind)]
    _refuse_unknown(f"{where} ({op})", value, ("op", *names))
    texts = {name: _text(f"{where}.{name}", value.get(name)) for name in names}
    for name in ("path", "to"):
        if texts.get(name):
            texts[name] = str(PurePosixPath(texts[name]))
    _require_fit(where, kind, texts)
    return kind(**texts)


def _require_fit(where: str, kind: Kind, texts: Mapping[str, str]) -> None:
    path = texts["path"]
    if kind in (Write, Replace, Patch) and _is_notebook(path):
        raise ProposalError(
            f"{where}: {path} is a notebook and raw writes to it are refused; send op 'cell' for each cell"
        )
    if kind is Cell and not _is_notebook(path):
        raise ProposalError(f"{where}: {path} is no notebook; send op 'replace' or 'write'")
    if kind is Rename and _is_notebook(texts["to"]) and not _is_notebook(path):
        raise ProposalError(f"{where}: {path} is no notebook and cannot become {texts['to']}; choose another name")
    if kind is Mode and texts["mode"] not in MODES:
        raise ProposalError(f"{where}.mode is {_short(texts['mode'])}; send one of {', '.join(MODES)}")


def _is_notebook(path: str) -> bool:
    return path.lower().endswith(".ipynb")


def _refuse_unknown(where: str, value: dict[Any, Any], known: tuple[str, ...]) -> None:
    for key in value:
        if key not in known:
            raise ProposalError(f"{where}: key {_short(key)} is unknown; it takes {', '.join(known)}")


def _text(where: str, value: object) -> str:
    if not isinstance(value, str):
        raise ProposalError(f"{where} is {_short(value)}; send a text there")
    if "\0" in value:
        raise ProposalError(f"{where} holds a NUL character; send plain text")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise ProposalError(f"{where} holds half a character (a lone surrogate); send plain UTF-8") from error
    return value


def _short(value: object) -> str:
    text = ascii(value)
    return "missing" if value is None else text if len(text) <= 60 else f"{text[:57]}…"
