"""The notebooks for people run top to bottom, on an empty workspace and on one with a history."""

import json
from datetime import timedelta
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from cipher_nb.adapters.changelog import publish
from cipher_nb.testing import sample_workspace
from cipher_nb.workspace import Workspace
from tests.report import nights
from tests.report.frames import HOSTILE

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
pytestmark = pytest.mark.usefixtures("fonts")
NAMES = ("cockpit.ipynb", "compare.ipynb", "explore_bus.ipynb")


def run(name, root, **parameters):
    """Execute a notebook in its own kernel with `workspace` set to `root`, and return its outputs as HTML or text."""
    notebook = nbformat.read(NOTEBOOKS / name, as_version=4)
    (cell,) = [cell for cell in notebook.cells if "parameters" in cell.metadata.get("tags", [])]
    given = {"workspace": str(root), **parameters}
    cell.source += "\n" + "\n".join(f"{key} = {value!r}" for key, value in given.items())
    place = {"metadata": {"path": str(root)}}
    NotebookClient(notebook, timeout=300, iopub_timeout=60, kernel_name="python3", resources=place).execute()
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
def test_a_workspace_without_a_night_is_told_what_to_compare(tmp_path):
    Workspace.init(tmp_path)
    shown = run("compare.ipynb", tmp_path)
    assert "Nothing has been compared yet. Run a night with: cipher-nb night." in shown
    assert "There are no answers of both sides to compare." in shown
    assert "Trend over 0 nights" in shown


@pytest.mark.slow
def test_the_newest_night_is_compared_where_nothing_is_named(tmp_path):
    ws = Workspace.init(tmp_path)
    folder = ws.paths.nights / "2026-11-30-0200"
    folder.mkdir(parents=True)
    nights.wide(folder)
    shown = run("compare.ipynb", tmp_path, per_family=True)
    for said in ("<p>REGRESSION: ", "○ open, below the gate", "second", "</del>", "exports-3b1c09d2aa51", "+0.33"):
        assert said in shown
    assert shown.count("<article") == 10
    assert "Trend over 1 nights, 1 of them with a comparison. 2026-11-30-0200 REGRESSION" in shown


@pytest.mark.slow
def test_the_bus_can_be_explored_when_it_is_empty(tmp_path):
    Workspace.init(tmp_path)
    shown = run("explore_bus.ipynb", tmp_path)
    assert "<p>0 events.</p>" in shown
    assert "Nothing has been approved 3 times yet." in shown
    assert "No gate has run yet." in shown


@pytest.mark.slow
def test_the_bus_can_be_explored_when_it_has_a_history(tmp_path):
    ws = sample_workspace(tmp_path)
    ws.bus.append("gate", gate="python -m pytest -q", passed=False, duration_ms=41_000)
    shown = run("explore_bus.ipynb", tmp_path)
    assert "Uses pathlib instead of os.path" in shown
    assert "2 of 3 votes" in shown
    assert 'alt="Events by type over time: 7 approvals, 3 rejections, 1 gate."' in shown
    assert 'alt="Share of approvals over time: 70% of the last 10 decisions."' in shown
    assert "python -m pytest -q failed 1 of 1 times and took 41 s" in shown


@pytest.mark.slow
def test_a_bus_of_other_programs_can_be_explored(tmp_path):
    """No times, older field names, torn lines, and text that wants to be markup."""
    rows = [
        *[{"type": "approval", "tool": "edit", "path": HOSTILE, "decision": HOSTILE}] * 3,
        {"type": "gate", "gate": HOSTILE, "passed": True, "duration_ms": 12},
        {"type": HOSTILE},
    ]
    ws = Workspace.init(tmp_path)
    ws.paths.bus.write_text("\n".join(map(json.dumps, rows)) + "\n{torn\n")
    shown = run("explore_bus.ipynb", tmp_path)
    assert "5 events: 3 approvals, 1 gate, 1 " in shown
    assert "5 without a time" in shown
    assert "1 torn or foreign line passed over" in shown
    assert "<script" not in shown
    assert "\u202e" not in shown


@pytest.mark.slow
def test_only_the_days_asked_for_are_looked_at(tmp_path):
    ws = sample_workspace(tmp_path)
    ws.bus.append("ship", commit_sha="0" * 40, files_count=1, intent="old", ts=ws.clock() - timedelta(days=9))
    assert "1 ship" in run("explore_bus.ipynb", tmp_path)
    shown = run("explore_bus.ipynb", tmp_path, since_days=7)
    assert "10 events" in shown
    assert "1 ship" not in shown
