"""The engine that answers the operator: found or started, holding what apply and rollback need, on production.

No file is loaded that does not fit: the server looks at little itself, and one bad file would keep it from starting.
A staged adapter or a way back that does not fit is left out, with an `error` event that names it. Production that does
not fit is never replaced by something else, which would be a change without the operator: a running engine that holds
it goes on with it; where none runs, none is started and the error names the way out, which is rollback.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from filelock import FileLock, Timeout

from cipher_nb.adapters.registry import Registry
from cipher_nb.config import Config
from cipher_nb.engine import daemon, swap
from cipher_nb.engine.client import Client
from cipher_nb.engine.daemon import Daemon
from cipher_nb.engine.server import ServeSpec
from cipher_nb.errors import (
    BrokenProductionError,
    ConfigError,
    EngineError,
    EngineStartError,
    IncompatibleAdapterError,
    NotFoundError,
    RegistryError,
)
from cipher_nb.files import locked
from cipher_nb.paths import Paths
from cipher_nb.training.compat import check_adapter


class Recorder(Protocol):
    """What serving and deciding need of the bus."""

    def append(self, type: str, /, **fields: object) -> bool: ...


def connect(paths: Paths, config: Config, registry: Registry, *, model: Path | None, bus: Recorder) -> Client:
    """Return a client of the served engine whose questions production answers, whatever is applied meanwhile.

    Starts the engine when it does not run, and replaces it (blue/green) when it lacks an adapter the registry needs.
    With `[engine] url` the operator's own server is asked as it is, and `Client.adapter` says what that is. The caller
    closes the client.
    """
    if config.engine.url:
        return _external(config)
    if model is None:
        raise EngineError("no model to serve; run: cipher-nb model fetch")
    client = refresh(paths, config, registry, model=model, bus=bus).client(config.engine)
    try:
        _agree(client, paths, registry.state().production)
    except BaseException:
        client.close()
        raise
    return client


def decision_lock(paths: Paths, *, timeout_s: float = 30.0) -> FileLock:
    """Return the lock that whoever changes what is served holds."""
    return locked(paths.audit.with_name("decision"), timeout_s=timeout_s)


def refresh(paths: Paths, config: Config, registry: Registry, *, model: Path, bus: Recorder) -> Daemon:
    """Return a running engine that holds every needed adapter that fits.

    One that lacks an adapter goes on answering until its successor is on production and its own requests are done; then
    it is retired. Two callers at once get the same engine: the second waits for the first; where none is to be started,
    nobody waits and no file is looked at. Raises BrokenProductionError.
    """
    ready = _ready(paths, registry, model)
    if ready:
        return ready
    with locked(paths.engine, timeout_s=config.engine.start_timeout_s):
        return _ready(paths, registry, model) or _replace(paths, config, registry, model=model, bus=bus)


def _agree(client: Client, paths: Paths, production: str) -> None:
    """Let production answer `client`, and bring the engine back to it when a decision died half done.

    While a decision is at work the engine is left to it.
    """
    if swap.pin(client, production):
        return
    with suppress(Timeout), decision_lock(paths, timeout_s=0):
        swap.change(client, production)


def _ready(paths: Paths, registry: Registry, model: Path) -> Daemon | None:
    found = daemon.find(paths.engine)
    if not found:
        return None
    wanted = [path for path in _needed(registry) if str(path) not in found.refused]
    return found if daemon.holds(found, model=model, adapters=wanted) else None


def _replace(paths: Paths, config: Config, registry: Registry, *, model: Path, bus: Recorder) -> Daemon:
    blue, needed, production = daemon.find(paths.engine), _needed(registry), registry.state().production
    refused = _misfits(registry, needed, model)
    for path, reason in refused.items():
        bus.append("error", source="engine", message=f"adapter {_id(path)} is not loaded: {reason}")
    fitting = [path for path in needed if path not in refused]
    spec = spec_of(paths, config, model=model, adapters=fitting, log=paths.engine_log)
    try:
        _require_production(production, refused)
        if blue and daemon.holds(blue, model=model, adapters=fitting):
            return daemon.refuse(blue, paths.engine, refused)
        green = daemon.launch(spec, paths.engine, adapter=production, refused=refused)
    except EngineStartError as error:
        return _stay(blue, paths, needed, production=production, model=model, error=error, bus=bus)
    if blue:
        _retire(blue, paths, config)
    return green


def _needed(registry: Registry) -> list[Path]:
    try:
        return registry.needed()
    except NotFoundError:  # production's file is gone: said where it is to be loaded
        return [registry.folder / registry.state().production / "adapter.gguf"]


def _misfits(registry: Registry, needed: list[Path], model: Path) -> dict[Path, str]:
    """Return the files that must not be loaded, with the reason: they do not fit, or are not what was taken in."""
    refused = {}
    for path in needed:
        try:
            check_adapter(path, model)
            registry.verify(_id(path))
        except (IncompatibleAdapterError, RegistryError, NotFoundError, OSError) as error:
            refused[path] = str(error)
    return refused


def _id(path: Path) -> str:
    return path.parent.name


def _require_production(production: str, refused: Mapping[Path, str]) -> None:
    for path, reason in refused.items():
        if _id(path) == production:
            raise BrokenProductionError(
                f"adapter {production} is production and cannot be loaded ({reason}); nothing is served in its place: "
                "go back with: cipher-nb rollback"
            )


def _stay(
    blue: Daemon | None,
    paths: Paths,
    needed: list[Path],
    *,
    production: str,
    model: Path,
    error: EngineStartError,
    bus: Recorder,
) -> Daemon:
    """Go on with the running engine when it holds production; what it lacks it is not asked for again."""
    own = [path for path in needed if _id(path) == production]
    if blue is None or not daemon.holds(blue, model=model, adapters=own):
        raise error
    bus.append("error", source="engine", message=f"the running engine goes on: {error}")
    lacking = {path: str(error) for path in needed if str(path) not in blue.adapters}
    return daemon.refuse(blue, paths.engine, lacking)


def _retire(blue: Daemon, paths: Paths, config: Config) -> None:
    """Let an engine finish what it is on, within bounds, and stop it."""
    # an engine that hangs, or is gone, is not waited for
    with suppress(EngineError), blue.client(config.engine) as client:
        swap.drain(client)
    daemon.retire(blue, paths.engine)


def spec_of(paths: Paths, config: Config, *, model: Path, adapters: list[Path], log: Path) -> ServeSpec:
    """Return what a server of this workspace loads; the same settings for serving and for the battery."""
    return ServeSpec(
        model=model,
        alias=config.model.name if "/" not in config.model.name else Path(config.model.name).stem,
        adapters=tuple(adapters),
        settings=config.engine,
        slot_folder=paths.slots,
        log=log,
    )


def _external(config: Config) -> Client:
    key = ""
    if config.engine.api_key_env:
        key = os.environ.get(config.engine.api_key_env, "")
        if not key:
            raise ConfigError(f"[engine] api_key_env names {config.engine.api_key_env}, which is not set; export it")
    timeout_s = config.engine.request_timeout_s
    client = Client(config.engine.url, api_key=key, timeout_s=timeout_s, trust_caches=False)
    try:
        swap.follow(client)
    except BaseException:
        client.close()
        raise
    return client
