"""The stage collect on a real server: when it stops, what it says then, and what it freezes otherwise."""

import json
from dataclasses import replace
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from cipher_nb.config import BatterySettings
from cipher_nb.errors import TrainingError
from cipher_nb.night.night import Night
from cipher_nb.testing import MovableClock
from cipher_nb.training.data.dataset import read_dataset, read_header
from tests.night.work import approve, event, night, pass_days, turn, workspace

NOTEBOOK = Path(__file__).parents[2] / "notebooks/night/10_collect.ipynb"


def collected(ws, folder=None, **more):
    return Night(ws.parts, folder or night(ws)).collect(**more)


def test_a_fault_in_the_operators_replay_file_is_told_before_the_model_is_asked(tmp_path):
    ws = workspace(tmp_path, settings='[model]\nname = "none.gguf"\n[training]\nreplay_file = "data/replay.jsonl"\n')
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "replay.jsonl").write_text('{"text": "Hi?"}\n')
    folder = night(ws)
    with pytest.raises(TrainingError, match=rf"^{tmp_path}/data/replay.jsonl, line 1: it has the keys 'text'; known"):
        collected(ws, folder)
    assert folder.result("collect") is None


@pytest.mark.slow
@pytest.mark.model
def test_small_nights_stop_until_there_is_enough_and_a_judged_one_uses_it_up(tmp_path, embedded_gguf):
    ws = workspace(tmp_path, settings=f'[model]\nname = "{embedded_gguf}"\n')
    for day, reason in enumerate(("3 new pairs, 8", "6 new pairs, 8")):
        approve(ws, *(f"t{day}{number}" for number in range(3)))
        result = collected(ws)
        assert (result["sufficient"], result["new_pairs"], result["total"]) == (False, 3 * (day + 1), 0)
        assert result["reason"] == f"{reason} are needed, and no category failed; kept for the next night"
        pass_days(ws, 1)
    approve(ws, *(f"t2{number}" for number in range(3)))
    folder = night(ws)
    result = collected(ws, folder)
    assert [result[name] for name in ("sufficient", "new_pairs", "earlier_pairs", "kept_pairs")] == [True, 9, 0, 9]
    assert (result["replay_pairs"], result["total"], result["notes"]) == (4, 13, [])
    assert [pair.source for pair in read_dataset(folder.dataset)].count("replay") == 4
    folder.finish("gate", {"verdict": "INCONCLUSIVE", "evidence": {"categories": []}, "rule": {"categories": []}})
    pass_days(ws, 1)
    event(ws, "rejection", "t00")
    result = collected(ws)
    assert (result["new_pairs"], result["earlier_pairs"]) == (0, 8)
    assert result["reason"] == "0 new pairs, 8 are needed, and no category failed"
    assert [why for _, why in result["dropped"]] == ["rejected after its approval"]
    again = collected(ws, min_new_pairs=0)
    assert (again["sufficient"], again["new_pairs"], again["earlier_pairs"], again["total"]) == (True, 0, 8, 11)


@pytest.mark.slow
@pytest.mark.model
def test_a_failed_category_is_reason_enough_and_the_operators_file_is_the_replay(tmp_path, embedded_gguf):
    settings = f'[model]\nname = "{embedded_gguf}"\n[training]\nreplay_file = "replay.jsonl"\n'
    ws = workspace(tmp_path, settings=settings)
    rows = [{"question": f"Say {number}.", "answer": str(number)} for number in range(60)]
    (tmp_path / "replay.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    approve(ws, "a")
    failing = BatterySettings(categories=("settings",), per_category=8, fail_below=1.01, practice_pairs=20)
    parts = replace(ws.parts, config=replace(ws.config, battery=failing))
    folder = night(ws)
    result = Night(parts, folder).collect()
    assert (result["sufficient"], result["new_pairs"], result["practice_pairs"]) == (True, 1, 20)
    header = read_header(folder.dataset)
    assert (header["new"], header["earlier"], header["practice"], header["replay"]) == (1, 0, 20, 9)
    assert header["sources"][-1] == {"source": "replay", "came_in": 60, "kept": 9}
    assert not ws.paths.replay.exists()
    again = Night(parts, night(ws)).collect()
    folder.finish("gate", {"verdict": "INCONCLUSIVE", "evidence": {"categories": []}, "rule": {"categories": []}})
    assert (again["sufficient"], again["new_pairs"]) == (True, 1)
    twin = Night(parts, night(ws)).collect()
    assert (twin["sufficient"], twin["reason"]) == (False, f"nothing new: the dataset is that of night {folder.run_id}")


@pytest.mark.slow
@pytest.mark.model
def test_the_notebook_shows_where_pairs_came_from_and_what_was_left_out(tmp_path, embedded_gguf):
    ws = workspace(tmp_path, settings=f'[model]\nname = "{embedded_gguf}"\n', clock=MovableClock())
    approve(ws, "a", "b", "c")
    turn(ws, "d")
    event(ws, "approval", "d")
    too_little = shown(ws, min_new_pairs=4)
    assert "3 new pairs, 4 are needed, and no category failed; kept for the next night" in too_little
    assert "No dataset was frozen." in too_little
    assert "no gate passed" in too_little
    enough = shown(ws, min_new_pairs=3)
    assert "4 pairs: 3 new, 0 of earlier nights, 0 of practice, 1 of replay (25.0%, 30% were asked for)." in enough
    assert "approved work</th>" in enough
    assert "d: no gate passed" in enough


def shown(ws, **parameters):
    """Run the notebook as a night does and return what its cells show."""
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    given = {"workspace": str(ws.paths.root), "run_id": night(ws).run_id, **parameters}
    (cell,) = [cell for cell in notebook.cells if "parameters" in cell.metadata.get("tags", [])]
    cell.source += "\n" + "\n".join(f"{key} = {value!r}" for key, value in given.items())
    NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert {output.output_type for output in outputs} == {"execute_result"}
    return "\n".join(output.data.get("text/html", output.data["text/plain"]) for output in outputs)
