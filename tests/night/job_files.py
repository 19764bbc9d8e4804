"""Small jobs for tests: a folder with a job file and notebooks whose cells are given as text."""

from __future__ import annotations

from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell, new_notebook

PARAMETERS = 'workspace = "."\nrun_id = ""\nstop_when_active = False\n'
OPEN = "from cipher_nb import Workspace\nnight = Workspace.open(workspace).night(run_id)\n"
FINISH_ALL = OPEN + (
    'results = {"collect": {"sufficient": True}, "train": {}, "export": {"adapter": "aaaa00000001"}, "battery": {},\n'
    '           "gate": {"verdict": "PROVEN", "rule": {"composite_delta": 0.1}},\n'
    '           "stage": {"adapter": "aaaa00000001", "status": "staged"}, "changelog": {}}\n'
    "for name, result in results.items():\n"
    "    night.folder.finish(name, result)\n"
)


def write_notebook(path: Path, *cells: str, parameters: str = PARAMETERS) -> None:
    first = new_code_cell(parameters)
    first.metadata["tags"] = ["parameters"]
    path.parent.mkdir(parents=True, exist_ok=True)
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    nbformat.write(new_notebook(cells=[first, *map(new_code_cell, cells)], metadata=kernel), path)


def write_job(folder: Path, *notebooks: tuple[str, str], extra: str = "") -> Path:
    """Write a job whose notebooks are (name, the one cell after the parameters), and return the job file."""
    rows = ['name = "small"\n', extra]
    for name, cell in notebooks:
        write_notebook(folder / "notebooks" / f"{name}.ipynb", cell)
        stages = '["collect", "train", "export", "battery", "gate", "stage", "changelog"]'
        rows.append(f'[[notebook]]\npath = "notebooks/{name}.ipynb"\nstages = {stages}\ntimeout_s = 60\n')
    job = folder / "papermill_jobs" / "small.toml"
    job.parent.mkdir(parents=True, exist_ok=True)
    job.write_text("".join(rows))
    return job
