"""Where every adapter comes from: its night, its base, what it was trained on, what the gate said, what it takes up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cipher_nb.adapters.registry import Registry
from cipher_nb.adapters.state import Mark, Role, State
from cipher_nb.engine.swap import BASE
from cipher_nb.errors import CipherError
from cipher_nb.files import inside, read_json
from cipher_nb.records import format_ts

BASE_DIGITS = 8


@dataclass(frozen=True)
class Adapter:
    """One adapter's origin. What is not on record is "", None or 0; `problem` says what is wrong with its files.

    `reason` is why it was archived, `base` the beginning of the base's SHA-256, `pairs` how many of each kind it was
    trained on (approved, practice, replay and any other), `loss` that of the last step; `verdict` and `composite_delta`
    are the gate's.
    """

    adapter: str
    role: Role
    reason: str
    night: str
    made: str
    base: str
    pairs: Mapping[str, int]
    loss: float | None
    verdict: str
    composite_delta: float | None
    bytes: int
    marked: Mark | None
    problem: str

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def lineage(registry: Registry, *, nights: Path) -> list[Adapter]:
    """Return every adapter that has files or that the registry names, newest first; `nights` holds the gate's results.

    Files that are missing or broken are told in the row, they are no error; a damaged registry is a RegistryError.
    """
    state = registry.state()
    named = {state.production, state.previous, state.staged, *state.archived, *state.held, *state.marked}
    rows = [_adapter(registry, state, name, nights) for name in {*registry.ids(), *named} - {"", BASE}]
    return sorted(rows, key=lambda row: (row.made, row.adapter), reverse=True)


def _adapter(registry: Registry, state: State, name: str, nights: Path) -> Adapter:
    manifest, problem = _manifest(registry, name)
    night, losses = str(manifest.get("night", "")), _list(manifest.get("losses"))
    gate = _gate(nights, night)
    sources = [str(_dict(pair).get("source")) for pair in _list(manifest.get("pairs"))]
    return Adapter(
        adapter=name,
        role=state.role(name),
        reason=state.archived.get(name, ""),
        night=night,
        made=str(manifest.get("made") or _changed(registry.folder / name / "adapter.gguf")),
        base=str(_dict(manifest.get("base")).get("sha256", ""))[:BASE_DIGITS],
        pairs={**dict.fromkeys(("approved", "practice", "replay"), 0), **Counter(map(_kind, sources))},
        loss=losses[-1] if losses else None,
        verdict=str(gate.get("verdict", "")),
        composite_delta=_dict(gate.get("rule")).get("composite_delta"),
        bytes=sum(path.stat().st_size for path in (registry.folder / name).glob("*") if path.is_file()),
        marked=state.marked.get(name),
        problem=problem,
    )


def _manifest(registry: Registry, name: str) -> tuple[dict[str, Any], str]:
    """Return the manifest, empty where there is none, and what is wrong with the adapter's files."""
    try:
        manifest = registry.manifest(name)
        registry.path(name)
    except CipherError as error:
        return {}, str(error)
    return manifest, ""


def _gate(nights: Path, night: str) -> dict[str, Any]:
    try:
        return _dict(read_json(inside(nights, f"{night}/gate.json"))) if night else {}
    except (CipherError, OSError):
        return {}


def _kind(source: str) -> str:
    return source.partition(":")[0]  # of practice, the category is left out


def _changed(path: Path) -> str:
    return format_ts(datetime.fromtimestamp(path.stat().st_mtime, UTC)) if path.is_file() else ""


def _dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
