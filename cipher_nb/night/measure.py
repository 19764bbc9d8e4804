"""Ask the battery: production (once, then from the store) and a candidate, on a server of the night's own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

from cipher_nb.adapters.serving import spec_of
from cipher_nb.battery import runner
from cipher_nb.battery.families import CATEGORIES, battery_version, sealed
from cipher_nb.battery.results import Header, Results, read_results
from cipher_nb.battery.samples import Sample
from cipher_nb.config import Config, settings_as_json
from cipher_nb.engine import swap
from cipher_nb.engine.client import Client
from cipher_nb.engine.server import serving
from cipher_nb.errors import BatteryError, NightStoppedError
from cipher_nb.night.idle import never
from cipher_nb.night.parts import Parts

OnProgress = Callable[[int, int], None]
ShouldStop = Callable[[], bool]


@contextmanager
def night_server(parts: Parts, adapters: Sequence[str]) -> Iterator[Client]:
    """Run the night's own server with `adapters` (ids) loaded, beside the served engine."""
    files = [parts.registry.path(adapter) for adapter in dict.fromkeys(adapters) if adapter != swap.BASE]
    log = parts.paths.aide / "night-engine.log"
    with serving(spec_of(parts.paths, parts.config, model=parts.model(), adapters=files, log=log)) as client:
        yield client


def sealed_samples(config: Config) -> list[Sample]:
    """Return what the gate asks, category after category."""
    settings = config.battery
    return [sample for name in CATEGORIES for sample in sealed(name, settings.per_category, seed=settings.seed)]


def header_for(parts: Parts, adapter: str) -> Header:
    """Return what identifies a result: base, adapter, battery, engine build and what decides an answer."""
    settings = {
        "battery": {"per_category": parts.config.battery.per_category, "seed": parts.config.battery.seed},
        "engine": {
            key: value
            for key, value in settings_as_json(parts.config.engine).items()
            if key in ("slots", "context_tokens", "threads")
        },
    }
    return Header.of(
        base=parts.base_sha256,
        adapter=adapter,
        battery_version=battery_version(),
        engine=f"xllamacpp {version('xllamacpp')}",
        settings=settings,
    )


def results_path(parts: Parts, header: Header) -> Path:
    return parts.paths.battery_results / f"{header.fingerprint}.jsonl"


def measure(
    parts: Parts, client: Client, adapter: str, *, on_progress: OnProgress, should_stop: ShouldStop
) -> tuple[Results, Path]:
    """Return the battery's results for `adapter` and the file that holds them; only what is missing is asked.

    Raises NightStoppedError when the operator came back before the last answer.
    """
    header = header_for(parts, adapter)
    path = results_path(parts, header)
    swap.serve(client, adapter)
    results = runner.run(
        sealed_samples(parts.config),
        model=client,
        path=path,
        header=header,
        workers=parts.config.engine.slots,
        on_progress=on_progress,
        should_stop=should_stop,
    )
    if should_stop():
        raise NightStoppedError("the operator came back during the battery; the next night goes on from here")
    return results, path


def measure_alone(parts: Parts, adapter: str, *, on_progress: OnProgress | None = None) -> Results:
    """Ask the battery of one adapter on a server of its own; no server is started when every answer is on record."""
    known = stored(parts, adapter)
    if known is not None and len(known.rows) == len(sealed_samples(parts.config)):
        return known
    with night_server(parts, [adapter]) as client:
        return measure(parts, client, adapter, on_progress=on_progress or _ignore, should_stop=never)[0]


def stored(parts: Parts, adapter: str) -> Results | None:
    """Return what is on record for `adapter` under the present settings, or None."""
    path = results_path(parts, header_for(parts, adapter))
    return read_results(path) if path.exists() else None


def results_of(parts: Parts, name: str) -> Results:
    """Return the results in the file `name`, or those on record for base, production, staged or an adapter's id."""
    if Path(name).is_file():
        return read_results(Path(name))
    adapter = parts.registry.resolve(name)
    known = stored(parts, adapter)
    if known is None:
        raise BatteryError(f"no results on record for {name} ({adapter}); run: cipher-nb battery run --adapter {name}")
    return known


def _ignore(done: int, total: int) -> None:
    return
