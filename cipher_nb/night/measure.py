"""Ask the battery: production (once, then from the store) and a candidate, on servers of the night's own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

from cipher_nb.adapters.serving import spec_of
from cipher_nb.battery import runner
from cipher_nb.battery.families import battery_version
from cipher_nb.battery.gate import GateReport, compare
from cipher_nb.battery.results import Header, Results, read_results, shared
from cipher_nb.battery.samples import Sample
from cipher_nb.engine import swap
from cipher_nb.engine.steady import SteadyServers, steady_serving, steady_settings
from cipher_nb.errors import BatteryError, NightStoppedError
from cipher_nb.night.coderun import code_runner
from cipher_nb.night.idle import never
from cipher_nb.night.parts import Parts
from cipher_nb.night.questions import questions

OnProgress = Callable[[int, int], None]
ShouldStop = Callable[[], bool]


@contextmanager
def night_servers(parts: Parts, adapters: Sequence[str]) -> Iterator[SteadyServers]:
    """Run the night's own servers with `adapters` (ids) loaded, beside the served engine."""
    files = [parts.registry.path(adapter) for adapter in dict.fromkeys(adapters) if adapter != swap.BASE]
    log = parts.paths.aide / "night-engine.log"
    with steady_serving(spec_of(parts.paths, parts.config, model=parts.model(), adapters=files, log=log)) as model:
        yield model


def header_for(parts: Parts, adapter: str) -> Header:
    """Return what identifies a result: base, adapter, battery, engine build and what decides an answer.

    How many samples are asked is no part of it: asking more goes on in the same file.
    """
    return Header.of(
        base=parts.base_sha256,
        adapter=adapter,
        battery_version=battery_version(),
        engine=f"xllamacpp {version('xllamacpp')}",
        settings={"engine": steady_settings(parts.config.engine)},
    )


def results_path(parts: Parts, header: Header) -> Path:
    return parts.paths.battery_results / f"{header.fingerprint}.jsonl"


def measure(
    parts: Parts,
    model: SteadyServers,
    adapter: str,
    samples: Sequence[Sample],
    *,
    on_progress: OnProgress,
    should_stop: ShouldStop,
    enough: ShouldStop = never,
) -> Results:
    """Return the answers of `adapter` to `samples`; what is on record is not asked again.

    When `enough` says so, what is not asked by then is left out. Raises NightStoppedError when the operator came back
    before the last answer.
    """
    header = header_for(parts, adapter)
    model.serve(adapter)
    results = runner.run(
        samples,
        model=model,
        path=results_path(parts, header),
        header=header,
        workers=model.workers,
        run_code=code_runner(parts.config.sandbox),
        on_progress=on_progress,
        should_stop=lambda: should_stop() or enough(),
    )
    if should_stop():
        raise NightStoppedError("the operator came back during the battery; the next night goes on from here")
    return results


def measure_alone(parts: Parts, adapter: str, *, on_progress: OnProgress | None = None) -> Results:
    """Ask the whole battery of one adapter on servers of its own; none is started when all is on record."""
    samples = questions(parts.config, parts.paths).all()
    known = stored(parts, adapter).only({sample.id for sample in samples})
    if len(known.rows) == len(samples) and not known.unscored:
        return known
    with night_servers(parts, [adapter]) as model:
        return measure(parts, model, adapter, samples, on_progress=on_progress or _ignore, should_stop=never)


def stored(parts: Parts, adapter: str) -> Results:
    """Return what is on record for `adapter` under the present settings, in the order of the questions."""
    header = header_for(parts, adapter)
    path = results_path(parts, header)
    if not path.exists():
        return Results(header, ())
    rows = {row.sample: row for row in read_results(path).rows}
    asked = questions(parts.config, parts.paths).all()
    return Results(header, tuple(rows[sample.id] for sample in asked if sample.id in rows))


def results_of(parts: Parts, name: str) -> Results:
    """Return the results in the file `name`, or those on record for base, production, staged or an adapter's id."""
    if Path(name).is_file():
        return read_results(Path(name))
    adapter = parts.registry.resolve(name)
    known = stored(parts, adapter)
    if not known.rows:
        raise BatteryError(f"no results on record for {name} ({adapter}); run: cipher-nb battery run --adapter {name}")
    return known


def compared(parts: Parts, baseline: str, candidate: str) -> GateReport:
    """Return what the gate says of two results, each a file or a name as `results_of` takes it.

    Of results on record only what both were asked is compared; two files must hold the same samples.
    """
    before, after = results_of(parts, baseline), results_of(parts, candidate)
    if not (Path(baseline).is_file() and Path(candidate).is_file()):
        before, after = shared(before, after)
    return compare(before, after, must_pass=questions(parts.config, parts.paths).pinned)


def _ignore(done: int, total: int) -> None:
    return
