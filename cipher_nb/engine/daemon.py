"""The served engine: a server that outlives the command that started it, found again through `.aide/engine.json`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from cipher_nb.config import EngineSettings
from cipher_nb.engine import swap
from cipher_nb.engine.client import Client
from cipher_nb.engine.server import Running, ServeSpec, is_alive, start, started_at, stop_process
from cipher_nb.errors import CipherError, EngineError
from cipher_nb.files import read_json, write_atomic, write_json


@dataclass(frozen=True)
class Daemon:
    """A served engine as `.aide/engine.json` records it. The key lies beside it, readable by the operator alone.

    `refused` maps adapter files it was to hold to why it does not.
    """

    url: str
    pid: int
    started: float
    key_file: str
    model: str
    adapters: tuple[str, ...]
    refused: Mapping[str, str] = field(default_factory=dict)

    @property
    def alive(self) -> bool:
        return is_alive(self.pid, self.started)

    def client(self, settings: EngineSettings) -> Client:
        """Connect; raises EngineError when the key is gone."""
        try:
            key = Path(self.key_file).read_text(encoding="utf-8")
        except OSError as error:
            raise EngineError(f"{self.key_file} is gone; run: cipher-nb engine stop") from error
        return Client(self.url, api_key=key, timeout_s=settings.request_timeout_s)


def find(record: Path) -> Daemon | None:
    """Return the running daemon that `record` names, or None when there is none (any more)."""
    try:
        row: dict[str, Any] = read_json(record)
        daemon = Daemon(**{**row, "adapters": tuple(row["adapters"])})
    except (FileNotFoundError, CipherError, TypeError, KeyError):
        return None
    return daemon if daemon.alive else None


def launch(
    spec: ServeSpec, record: Path, *, adapter: str = swap.BASE, refused: Mapping[Path, str] | None = None
) -> Daemon:
    """Start a new served engine and, once it answers with `adapter`, record it in place of the one recorded before.

    The one before goes on running: the caller decides when `retire` ends it. `refused` files are not asked of it again.
    """
    running = start(spec, watch_parent=False)
    try:
        with running.client(spec.settings) as client:
            if not swap.pin(client, adapter):
                swap.change(client, adapter)
        daemon = replace(_describe(running, spec, record), refused=_texts(refused or {}))
        write_json(record, asdict(daemon))
    except BaseException:
        running.stop()
        raise
    return daemon


def retire(daemon: Daemon, record: Path) -> None:
    """Stop `daemon`; its record and key go with it unless another daemon has taken the record over."""
    if daemon.alive:
        stop_process(daemon.pid)
    current = find(record)
    if current is None:
        record.unlink(missing_ok=True)
    if current is None or current.key_file != daemon.key_file:
        Path(daemon.key_file).unlink(missing_ok=True)


def refuse(daemon: Daemon, record: Path, refused: Mapping[Path, str]) -> Daemon:
    """Put it on record that `daemon` goes on without these files."""
    changed = replace(daemon, refused={**daemon.refused, **_texts(refused)})
    write_json(record, asdict(changed))
    return changed


def holds(daemon: Daemon, *, model: Path, adapters: Sequence[Path]) -> bool:
    """Tell whether the daemon serves `model` and has all of `adapters` loaded."""
    return daemon.model == str(model) and {str(path) for path in adapters} <= set(daemon.adapters)


def _texts(refused: Mapping[Path, str]) -> dict[str, str]:
    return {str(path): reason for path, reason in refused.items()}


def _describe(running: Running, spec: ServeSpec, record: Path) -> Daemon:
    pid = running.process.pid
    key_file = record.with_name(f"engine-{pid}.key")
    write_atomic(key_file, "")
    key_file.chmod(0o600)  # before the key is in it
    key_file.write_text(running.api_key, encoding="utf-8")
    return Daemon(
        url=running.url,
        pid=pid,
        started=started_at(pid),
        key_file=str(key_file),
        model=str(spec.model),
        adapters=tuple(str(path) for path in spec.adapters),
    )
