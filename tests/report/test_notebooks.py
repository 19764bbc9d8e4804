"""The notebooks for people run top to bottom, on an empty workspace and on one with a history."""

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from cipher_nb.adapters.changelog import publish
from cipher_nb.testing import sample_workspace
from cipher_nb.workspace import Workspace
from tests.report import nights

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
NAMES = ("cockpit.ipynb", "explore_bus.ipynb")


def run(name, root):
    """Execute a notebook in its own kernel with `workspace` set to `root`, and return its outputs as HTML or text."""
    notebook = nbformat.read(NOTEBOOKS / name, as_version=4)
    (cell,) = [cell for cell in notebook.cells if "parameters" in cell.metadata.get("tags", [])]
    cell.source = cell.source.replace('workspace = "."', f"workspace = {str(root)!r}")
    NotebookClient(notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(root)}}).execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert not [output for output in outputs if output.output_type == "stream"]
    return "\n".join(output.data.get("text/html", output.data["text/plain"]) for output in outputs)


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_is_committed_clean(name):
    notebook = nbformat.read(NOTEBOOKS / name, as_version=4)
    nbformat.validate(notebook)
    assert (notebook.nbformat, notebook.nbformat_minor) == (4, 5)
    assert notebook.metadata.kernelspec.name == "python3"
    assert [cell.get("outputs", []) for cell in notebook.cells] == [[]] * len(notebook.cells)
    assert [cell.get("execution_count") for cell in notebook.cells] == [None] * len(notebook.cells)
    assert len({cell.id for cell in notebook.cells}) == len(notebook.cells)
    assert ["parameters" in cell.metadata.get("tags", []) for cell in notebook.cells].count(True) == 1


@pytest.mark.slow
def test_the_cockpit_runs_on_an_empty_workspace(tmp_path):
    Workspace.init(tmp_path)
    shown = run("cockpit.ipynb", tmp_path)
    assert "Nothing waits for a decision" in shown
    assert "there is anything to compare." in shown


@pytest.mark.slow
def test_the_cockpit_shows_what_waits_and_the_commands_to_copy(tmp_path):
    ws = Workspace.init(tmp_path)
    folder = ws.paths.nights / "2026-11-30-0200"
    folder.mkdir(parents=True)
    changelog = nights.staged(folder)
    publish(ws.paths.changelog, changelog)
    shown = run("cockpit.ipynb", tmp_path)
    assert f"cipher-nb apply {changelog.ref}" in shown
    assert "Overnight I learned:" in shown
    assert "command registry" in shown


@pytest.mark.slow
def test_the_bus_can_be_explored_when_it_is_empty(tmp_path):
    Workspace.init(tmp_path)
    shown = run("explore_bus.ipynb", tmp_path)
    assert "0 events in 30 days" in shown
    assert "Nothing has been approved 3 times yet." in shown


@pytest.mark.slow
def test_the_bus_can_be_explored_when_it_has_a_history(tmp_path):
    sample_workspace(tmp_path)
    shown = run("explore_bus.ipynb", tmp_path)
    assert "Uses pathlib instead of os.path" in shown
    assert "1 more vote" in shown
    assert 'alt="Events by type over time: 7 approval, 3 rejection."' in shown
