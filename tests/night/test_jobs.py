"""Job files: what is in them, and every way to get one wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from cipher_nb.errors import ConfigError, NotFoundError
from cipher_nb.night.jobs import bundled, check_parameters, load_job, with_parameters
from tests.night.job_files import write_job


def test_the_nightly_job_covers_every_stage_in_order_and_fits_its_notebooks() -> None:
    job = load_job(bundled("papermill_jobs/nightly.toml"))
    check_parameters(job)
    assert [notebook.path.name for notebook in job.notebooks] == [
        "10_collect.ipynb",
        "20_train.ipynb",
        "30_battery.ipynb",
        "40_changelog.ipynb",
    ]
    stages = [stage for notebook in job.notebooks for stage in notebook.stages]
    assert stages == ["collect", "train", "export", "battery", "gate", "stage", "changelog"]


def test_a_given_parameter_reaches_the_notebooks_that_know_it() -> None:
    job = with_parameters(load_job(bundled("papermill_jobs/nightly.toml")), {"since_hours": 168.0})
    assert [dict(notebook.parameters) for notebook in job.notebooks] == [{"since_hours": 168.0}, {}, {}, {}]


def test_a_parameter_that_no_notebook_knows_is_an_error() -> None:
    with pytest.raises(ConfigError, match=r"'sinc_hours' is unknown to job nightly; did you mean since_hours\?"):
        with_parameters(load_job(bundled("papermill_jobs/nightly.toml")), {"sinc_hours": 1})


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "lists no notebooks"),
        ("notebooks = 1", r"notebooks is unknown; did you mean notebook\?"),
        ("[[notebook]]\npath = 3", "has no path"),
        ('[[notebook]]\npath = "notebooks/none.ipynb"', "does not exist"),
        ('[[notebook]]\npath = "notebooks/one.ipynb"\nstages = ["colect"]', r"did you mean collect\?"),
        ('[[notebook]]\npath = "notebooks/one.ipynb"\ntimeout_s = "1h"', "of the wrong type"),
        ('[[notebook]]\npath = "notebooks/one.ipynb"\ntimeouts = 1', r"did you mean timeout_s\?"),
        ("[[notebook", "is not valid TOML"),
    ],
)
def test_a_wrong_job_file_names_what_is_wrong(tmp_path: Path, text: str, words: str) -> None:
    job = write_job(tmp_path, ("one", ""))
    job.write_text(text)
    with pytest.raises(ConfigError, match=words):
        load_job(job)


def test_a_missing_job_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match=r"none\.toml does not exist"):
        load_job(tmp_path / "none.toml")


def test_a_parameter_its_notebook_lacks_is_refused_before_anything_runs(tmp_path: Path) -> None:
    job = write_job(tmp_path, ("one", ""))
    job.write_text(job.read_text() + "parameters = { sinc = 1 }\n")
    with pytest.raises(ConfigError, match=r"parameter 'sinc' is unknown to one\.ipynb"):
        check_parameters(load_job(job))
