"""What the registry remembers: what is production, what is staged, what was set aside and why, what was marked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from cipher_nb.engine.swap import BASE

Role = Literal["production", "previous", "staged", "archived", "former", "candidate"]

WAYS_OUT: Mapping[Role, str] = {
    "production": "; serve the one before with: cipher-nb rollback",
    "staged": "; set it aside, see: cipher-nb changelog",
}


@dataclass(frozen=True)
class Mark:
    """An adapter was trained on what was purged since: when the last of it went, and how many of its pairs in all.

    What it was is not told. `pairs` is None where the adapter's manifest is unreadable, so that nobody can say.
    """

    at: str
    pairs: int | None

    def in_words(self) -> str:
        """Return what happened, to stand behind the adapter's name."""
        if self.pairs is None:
            return f"perhaps trained on what was purged at {self.at}, since its manifest is unreadable"
        return f"trained on {self.pairs} pair{'s' * (self.pairs != 1)} purged at {self.at}"


@dataclass(frozen=True)
class State:
    """`previous` is what rollback returns to, `archived` maps ids to reasons, `held` lists what once was production.

    `marked` are the adapters that saw what was purged since.
    """

    production: str = BASE
    previous: str = BASE
    staged: str = ""
    archived: Mapping[str, str] = field(default_factory=dict)
    held: tuple[str, ...] = ()
    marked: Mapping[str, Mark] = field(default_factory=dict)

    @classmethod
    def from_json(cls, row: object) -> State:
        """Return the state in `row`; keys that are not known are passed over. ValueError says what is wrong."""
        if not isinstance(row, dict) or not isinstance(row.get("production"), str) or not row["production"]:
            raise ValueError("it names no production")
        kinds = {"previous": str, "staged": str, "archived": dict, "held": list, "marked": dict}
        told = {name: row[name] for name in kinds if name in row}
        for name, value in told.items():
            if not isinstance(value, kinds[name]):
                raise ValueError(f"{name} is {value!r:.80}")
        told["held"] = tuple(told.get("held", ()))
        told["marked"] = {name: _mark(name, mark) for name, mark in told.get("marked", {}).items()}
        return cls(production=row["production"], **told)

    def role(self, adapter: str) -> Role:
        """Return what `adapter` is here: "former" once was production, "candidate" waits for a night's verdict."""
        known: dict[str, Role] = {**dict.fromkeys(self.held, "former"), **dict.fromkeys(self.archived, "archived")}
        known |= {self.staged: "staged", self.previous: "previous", self.production: "production"}
        return known.get(adapter, "candidate")

    def why_marked(self, adapter: str) -> str:
        """Return why `adapter` is marked, in words; "" where it is not."""
        return self.marked[adapter].in_words() if adapter in self.marked else ""

    def warning(self, adapter: str) -> str:
        """Return why `adapter` is marked, with the way out for production and what is staged; "" where it is not."""
        why, role = self.why_marked(adapter), self.role(adapter)
        return f"{why}{WAYS_OUT.get(role, '')}" if why else ""

    def ways_back(self) -> tuple[str, ...]:
        """Return where rollback may go: the one before, what else once was production, newest first, the base.

        What was archived is left out, and so is what is marked: only an unmarked production may make way for a marked
        one, and only for the one before it. From the base there is no way back.
        """
        if self.production == BASE:
            return ()
        order = dict.fromkeys((self.previous, *reversed(self.held), BASE))
        return tuple(adapter for adapter in order if self._may_return(adapter))

    def _may_return(self, adapter: str) -> bool:
        if adapter in ("", self.production) or adapter in self.archived:
            return False
        return adapter not in self.marked or (adapter == self.previous and self.production not in self.marked)


def _mark(adapter: str, row: Any) -> Mark:
    try:
        return Mark(at=str(row["at"]), pairs=None if row["pairs"] is None else int(row["pairs"]))
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"the mark of {adapter} is {row!r:.80}") from error
