"""The notebook that tries training settings, with a plan of one trial."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from tests.night.trials.workspaces import small_workspace

NOTEBOOK = Path(__file__).parents[2] / "notebooks" / "learning.ipynb"
TINY = {
    "rates": [5e-4],
    "replay_shares": [0.3],
    "confirm_seeds": [],
    "replay": ["base"],
    "load_in_4bit": ["no"],
    "rejections": ["ignore"],
    "per_category": 4,
}


def test_it_is_committed_clean_and_its_parameters_are_plain_literals():
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [(cell.outputs, cell.execution_count) for cell in code] == [([], None)] * len(code)
    (parameters,) = [cell for cell in code if "parameters" in cell.metadata.get("tags", [])]
    given: dict[str, object] = {}
    exec(parameters.source, {"__builtins__": {}}, given)
    assert set(TINY) < set(given)
    assert all("  # " in line for line in parameters.source.splitlines())


@pytest.mark.slow
@pytest.mark.model
@pytest.mark.usefixtures("fonts")
def test_a_plan_of_one_trial_runs_top_to_bottom(embedded_gguf, tmp_path):
    ws = small_workspace(tmp_path, model=embedded_gguf, categories=("keybindings", "settings"), practice_pairs=6)
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    (cell,) = [cell for cell in notebook.cells if "parameters" in cell.metadata.get("tags", [])]
    cell.source += "".join(f"\n{name} = {value!r}" for name, value in {"workspace": str(tmp_path), **TINY}.items())
    NotebookClient(notebook, timeout=1800, iopub_timeout=60, kernel_name="python3").execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert not [output for output in outputs if output.output_type == "stream"]
    shown = [output.data["text/plain"] for output in outputs]
    assert shown[1].startswith("Trained on keybindings, the base's weakest category")
    assert shown[2].splitlines()[1].split() == ["the", "base's", "own", "answers", "27%", "2", "6", "3", "0"]
    assert shown[3].startswith("1 trial: about ")
    assert shown[4] == "All trials are done."
    assert shown[5].startswith("Only the SOP's setting (5e-4 · 30%) was tried")
    assert shown[6].startswith("Gain on keybindings and change elsewhere by setting. 5e-4 · 30%: gain ")
    assert shown[7].splitlines()[1].startswith("5e-4 · 30%  ")
    assert len((ws.paths.trials / "trials.jsonl").read_text().splitlines()) == 1
