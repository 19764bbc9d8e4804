"""Ask a model the samples, several at a time, and keep every row as it is scored."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from cipher_nb.battery.code import RunCode
from cipher_nb.battery.results import Header, Results, Row, append_header, append_row, read_results
from cipher_nb.battery.samples import Sample
from cipher_nb.battery.scorers import choose, score
from cipher_nb.battery.workers import share_out
from cipher_nb.errors import BatteryError, EngineError
from cipher_nb.model import Model

ATTEMPTS = 2
NO_SANDBOX = "its code was not run: nothing was given to run it"
NOT_RUN = "its code could not be run held in; see: cipher-nb doctor"


def run(
    samples: Sequence[Sample],
    *,
    model: Model,
    path: Path,
    header: Header,
    workers: int = 4,
    run_code: RunCode | None = None,
    on_progress: Callable[[int, int], None] | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> Results:
    """Return the rows of `samples`, in their order; `path` keeps each one from the moment it is scored.

    `model` is asked `workers` questions at a time. What `path` already holds under the same fingerprint is not asked
    again, also when the run before was killed; except where there is no score. A sample has none, and an error that
    says why, when two attempts end in an EngineError, and when it is code that `run_code` could not run. `on_progress`
    gets how many are done, of how many. When `should_stop` says so, what is not asked yet stays unasked and is missing
    from the results. Raises BatteryError when `path` belongs to another fingerprint.
    """
    known = _known(path, header)
    wanted = {sample.id: sample for sample in samples}
    rows = {name: row for name, row in known.items() if name in wanted}
    # what begins alike is asked by one worker, and the server keeps what it has read
    todo = sorted((sample for name, sample in wanted.items() if name not in rows), key=_beginning)
    total = len(wanted)
    _report(on_progress, len(rows), total)

    def keep(row: Row | None) -> None:
        if row is not None:
            append_row(path, row)
            rows[row.sample] = row
            _report(on_progress, len(rows), total)

    def answer(sample: Sample) -> Row | None:
        return None if should_stop and should_stop() else _answered(sample, model, run_code)

    share_out(todo, answer, alike=_beginning, workers=workers, take=keep)
    return Results(header, tuple(rows[name] for name in wanted if name in rows))


def _known(path: Path, header: Header) -> dict[str, Row]:
    if not path.exists() or path.stat().st_size == 0:
        append_header(path, header)
        return {}
    found = read_results(path)
    if found.header is None or found.header.fingerprint != header.fingerprint:
        theirs = found.header.fingerprint if found.header else "none"
        raise BatteryError(
            f"results {path} have fingerprint {theirs}, this run has {header.fingerprint}; choose another file"
        )
    return {row.sample: row for row in found.rows if row.score is not None}


def _beginning(sample: Sample) -> tuple[str, str, list[str]]:
    return sample.category, sample.family, [message["content"] for message in sample.messages[:-1]]


def _answered(sample: Sample, model: Model, run_code: RunCode | None) -> Row:
    problem = ""
    for _ in range(ATTEMPTS):
        try:
            answer = _ask(sample, model)
        except EngineError as error:
            problem = str(error)
        else:
            return _scored(sample, answer, run_code)
    return Row(sample.id, sample.category, sample.family, None, "", error=problem)


def _scored(sample: Sample, answer: str, run_code: RunCode | None) -> Row:
    points = score(sample, answer, run_code=run_code)
    problem = "" if points is not None else NOT_RUN if run_code else NO_SANDBOX
    return Row(sample.id, sample.category, sample.family, points, answer, error=problem)


def _ask(sample: Sample, model: Model) -> str:
    if sample.scorer == "choice":
        return choose(sample.choices, model.next_token_logprobs(sample.messages))
    return model.chat(sample.messages, max_tokens=sample.max_tokens, temperature=0.0, seed=0).text


def _report(on_progress: Callable[[int, int], None] | None, done: int, total: int) -> None:
    if on_progress:
        on_progress(done, total)
