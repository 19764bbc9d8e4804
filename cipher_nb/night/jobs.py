"""Job files: which notebooks a night runs, in which order, with which parameters and for how long."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cipher_nb.errors import ConfigError, NotFoundError, suggestion
from cipher_nb.night.folder import STAGES

NOTEBOOK_KEYS = ("path", "stages", "timeout_s", "parameters")
OWN_PARAMETERS = ("workspace", "run_id", "stop_when_active")
"""Set by the night itself, for every notebook."""


@dataclass(frozen=True)
class NotebookJob:
    """One notebook of a job: the stages it must leave finished, its time limit and its parameters."""

    path: Path
    stages: tuple[str, ...]
    timeout_s: float
    parameters: Mapping[str, Any]


@dataclass(frozen=True)
class Job:
    """A night's work, in order. `schedule` is the crontab time it is meant for."""

    name: str
    schedule: str
    notebooks: tuple[NotebookJob, ...]


def bundled(relative: str) -> Path:
    """Return a notebook or job file that comes with the package, from the wheel or from a checkout."""
    package = Path(__file__).parents[1]
    for root in (package / "_bundled", package.parent):
        if (root / relative).exists():
            return root / relative
    raise NotFoundError(f"{relative} does not come with this installation; install cipher-nb again")


def load_job(path: Path) -> Job:
    """Return the job in `path`; ConfigError names what is unknown, missing or of the wrong type."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise NotFoundError(f"job file {path} does not exist") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not valid TOML: {error}") from error
    _refuse_unknown(table, ("name", "schedule", "notebook"), path)
    rows = table.get("notebook", [])
    if not isinstance(rows, list) or not rows:
        raise ConfigError(f"{path} lists no notebooks; add a [[notebook]] table")
    notebooks = tuple(_notebook(row, path) for row in rows)
    return Job(name=str(table.get("name", path.stem)), schedule=str(table.get("schedule", "")), notebooks=notebooks)


def with_parameters(job: Job, given: Mapping[str, Any]) -> Job:
    """Return `job` with `given` put into every notebook that knows the parameter; ConfigError if none does."""
    known = {notebook.path: parameters_of(notebook.path) for notebook in job.notebooks}
    for name in given:
        everything = sorted({each for names in known.values() for each in names} - set(OWN_PARAMETERS))
        if not any(name in names for names in known.values()):
            raise ConfigError(f"parameter {name!r} is unknown to job {job.name}; {suggestion(name, everything)}")
    notebooks = [
        NotebookJob(
            path=notebook.path,
            stages=notebook.stages,
            timeout_s=notebook.timeout_s,
            parameters={
                **notebook.parameters,
                **{name: value for name, value in given.items() if name in known[notebook.path]},
            },
        )
        for notebook in job.notebooks
    ]
    return Job(name=job.name, schedule=job.schedule, notebooks=tuple(notebooks))


def check_parameters(job: Job) -> None:
    """Raise ConfigError for a parameter that its notebook does not have: papermill itself would only warn."""
    for notebook in job.notebooks:
        known = parameters_of(notebook.path)
        for name in (*OWN_PARAMETERS, *notebook.parameters):
            if name not in known:
                raise ConfigError(
                    f"parameter {name!r} is unknown to {notebook.path.name}; {suggestion(name, sorted(known))}"
                )


def parameters_of(notebook: Path) -> set[str]:
    """Return the names in the notebook's parameters cell."""
    import papermill

    return set(papermill.inspect_notebook(papermill_path(notebook)))


def papermill_path(path: str | Path) -> str:
    """Return `path` with its braces doubled: papermill lays every path out with str.format."""
    return str(path).replace("{", "{{").replace("}", "}}")


def _notebook(row: object, path: Path) -> NotebookJob:
    if not isinstance(row, dict) or not isinstance(row.get("path"), str):
        raise ConfigError(f'a [[notebook]] in {path} has no path; add path = "notebooks/…"')
    _refuse_unknown(row, NOTEBOOK_KEYS, path)
    stages = tuple(row.get("stages", ()))
    for stage in stages:
        if stage not in STAGES:
            raise ConfigError(f"stage {stage!r} of {row['path']} is unknown; {suggestion(str(stage), STAGES)} ({path})")
    timeout_s, parameters = row.get("timeout_s", 3600), row.get("parameters", {})
    if not isinstance(timeout_s, int | float) or timeout_s <= 0 or not isinstance(parameters, dict):
        raise ConfigError(f"timeout_s or parameters of {row['path']} is of the wrong type ({path})")
    notebook = path.parent.parent / row["path"]
    if not notebook.is_file():
        raise ConfigError(f"notebook {row['path']} does not exist beside {path.parent} ({path})")
    return NotebookJob(path=notebook, stages=stages, timeout_s=float(timeout_s), parameters=parameters)


def _refuse_unknown(found: Mapping[str, Any], known: tuple[str, ...], path: Path) -> None:
    for key in found:
        if key not in known:
            raise ConfigError(f"{key} is unknown; {suggestion(key, known)} ({path})")
