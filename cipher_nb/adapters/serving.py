"""The engine that answers the operator: found or started, holding what apply and rollback need, on production."""

from __future__ import annotations

from pathlib import Path

from cipher_nb.adapters.registry import Registry
from cipher_nb.config import Config
from cipher_nb.engine import daemon, swap
from cipher_nb.engine.client import Client
from cipher_nb.engine.daemon import Daemon
from cipher_nb.engine.server import ServeSpec
from cipher_nb.errors import ConfigError, EngineError
from cipher_nb.files import locked
from cipher_nb.paths import Paths


def connect(paths: Paths, config: Config, registry: Registry, *, model: Path | None) -> Client:
    """Return a client of the served engine, which answers with production.

    Starts the engine when it does not run, and replaces it (blue/green) when it lacks an adapter the registry needs.
    With `[engine] url` the operator's own server is asked as it is. The caller closes the client.
    """
    if config.engine.url:
        return _external(config)
    if model is None:
        raise EngineError("no model to serve; run: cipher-nb model fetch")
    client = refresh(paths, config, registry, model=model).client(config.engine)
    production = registry.state().production
    if swap.served(client) != production:
        swap.serve(client, production)
    return client


def refresh(paths: Paths, config: Config, registry: Registry, *, model: Path) -> Daemon:
    """Return a running engine that holds every needed adapter.

    One that lacks an adapter goes on answering until its successor is healthy and on production; then it is retired.
    Two callers at once get the same engine: the second waits for the first; where none is to be started, nobody waits.
    """
    ready = _ready(paths, registry, model)
    if ready:
        return ready
    with locked(paths.engine, timeout_s=config.engine.start_timeout_s):
        return _ready(paths, registry, model) or _replace(paths, config, registry, model=model)


def _ready(paths: Paths, registry: Registry, model: Path) -> Daemon | None:
    found = daemon.find(paths.engine)
    return found if found and daemon.holds(found, model=model, adapters=registry.needed()) else None


def _replace(paths: Paths, config: Config, registry: Registry, *, model: Path) -> Daemon:
    blue, needed = daemon.find(paths.engine), registry.needed()
    green = daemon.launch(spec_of(paths, config, model=model, adapters=needed, log=paths.engine_log), paths.engine)
    with green.client(config.engine) as client:
        swap.serve(client, registry.state().production)
    if blue:
        daemon.retire(blue, paths.engine)
    return green


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
    import os

    key = ""
    if config.engine.api_key_env:
        key = os.environ.get(config.engine.api_key_env, "")
        if not key:
            raise ConfigError(f"[engine] api_key_env names {config.engine.api_key_env}, which is not set; export it")
    return Client(config.engine.url, api_key=key, timeout_s=config.engine.request_timeout_s)
