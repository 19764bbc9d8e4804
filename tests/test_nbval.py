"""nbval runs the notebooks with their defaults. They are committed without outputs, so it runs them for errors only."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output

from cipher_nb.testing import sample_workspace

NOTEBOOKS = Path(__file__).parents[1] / "notebooks"

pytestmark = pytest.mark.slow


def nbval(option: str, notebook: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", option, notebook.name]
    return subprocess.run(command, cwd=notebook.parent, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("name", ["explore_bus.ipynb", "cockpit.ipynb", "task.ipynb", "compare.ipynb"])
def test_a_notebook_runs_top_to_bottom_with_its_defaults(tmp_path: Path, name: str) -> None:
    sample_workspace(tmp_path)
    notebook = Path(shutil.copy(NOTEBOOKS / name, tmp_path))
    done = nbval("--nbval-lax", notebook)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(("stored", "code"), [("3", 0), ("4", 1)])
def test_a_stored_output_that_is_wrong_fails_where_outputs_are_compared(tmp_path: Path, stored: str, code: int) -> None:
    output = new_output("execute_result", {"text/plain": stored}, execution_count=1)
    cell = new_code_cell("1 + 2", outputs=[output], execution_count=1)
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    nbformat.write(new_notebook(cells=[cell], metadata=kernel), tmp_path / "sum.ipynb")
    assert nbval("--nbval", tmp_path / "sum.ipynb").returncode == code
