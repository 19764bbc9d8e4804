"""What nights keep of it: pairs in their datasets, and weights trained on those."""

from __future__ import annotations

import shutil
from pathlib import Path

from cipher_nb.erasure.doomed import Doomed
from cipher_nb.errors import CipherError
from cipher_nb.files import read_json
from cipher_nb.jsonl import rewrite

TRAINED = ("training", "adapter", "export")
BEGUN = "begun.json"


def clean_nights(nights: Path, doomed: Doomed) -> tuple[str, ...]:
    """Take the pairs out of the datasets and remove what was trained on them; return the nights that held any.

    A night that is over keeps its results and its report. One that is not, or was stopped, loses all but its beginning:
    taken up again, it collects anew. Its dataset goes last, so that a purge that dies finds the night again.
    """
    found = sorted(nights.glob("*/dataset.jsonl"))
    return tuple(dataset.parent.name for dataset in found if _clean(dataset, doomed))


def clean_trials(trials: Path) -> None:
    """Remove what a trial that was killed has left: the weights that it trained."""
    shutil.rmtree(trials / "scratch", ignore_errors=True)


def _clean(dataset: Path, doomed: Doomed) -> bool:
    if not doomed.made_some_of(dataset):
        return False
    night = dataset.parent
    over = _is_over(night)
    for path in sorted(night.iterdir()):
        if path.name in TRAINED or not (over or path.name in (BEGUN, dataset.name)):
            _remove(path)
    if over:
        rewrite(dataset, lambda line: not doomed.made_line(line))
    else:
        dataset.unlink()
    return True


def _is_over(night: Path) -> bool:
    try:
        return bool(read_json(night / "night.json")["status"] != "stopped")
    except (CipherError, OSError, KeyError, TypeError):
        return False


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
