"""The export stage: the night's adapter goes into the registry, by our export or by the operator's script."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from cipher_nb import Workspace
from cipher_nb.errors import ExportError
from cipher_nb.night.folder import new_night
from tests.tiny_models import tiny_model
from tests.training.conftest import pair
from tests.training.llama_cpp_script import base_gguf, random_adapter, script
from tests.training.runs import write_dataset

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a tiny checkpoint, its GGUF file and an adapter as training leaves it."""
    folder = tmp_path_factory.mktemp("trained")
    checkpoint = tiny_model("llama", folder / "base")
    base_gguf(checkpoint, "llama", folder / "base.gguf")
    random_adapter(checkpoint, folder / "adapter", r=4, lora_alpha=8, target_modules=["q_proj", "up_proj"])
    return folder


def export(trained: Path, root: Path, *, convert_script: str = "") -> tuple[Workspace, dict[str, object]]:
    """Run the export stage of a night in a workspace of its own, and return both."""
    paths = Workspace.init(root).paths
    paths.config.write_text(
        f'[model]\nname = "{trained / "base.gguf"}"\n'
        f'[training]\nbase = "{trained / "base"}"\nconvert_script = "{convert_script}"\n'
    )
    ws = Workspace.open(root)
    folder = new_night(paths.nights, ws.clock())
    shutil.copytree(trained / "adapter", folder.path / "adapter")
    taught = pair("q", "a", event_ids=("gate-1", "ship-2"))
    write_dataset(folder.dataset, [taught])
    folder.finish("train", {"pair_ids": [taught.id], "losses": [2.0, 1.0]})
    return ws, ws.night(folder.run_id).export()


def test_the_adapter_lies_in_the_registry_under_its_id(trained: Path, tmp_path: Path) -> None:
    ws, result = export(trained, tmp_path / "ws")
    adapter = str(result["adapter"])
    assert ws.registry.path(adapter).stat().st_size == result["bytes"]
    assert ws.registry.manifest(adapter)["base"]["name"] == "base.gguf"
    assert ws.registry.manifest(adapter)["losses"] == [2.0, 1.0]
    assert ws.registry.manifest(adapter)["pairs"][0]["event_ids"] == ["gate-1", "ship-2"]


@pytest.mark.slow
def test_the_operators_script_gives_the_same_adapter(trained: Path, tmp_path: Path) -> None:
    ours, theirs = (
        export(trained, tmp_path / "ours")[1],
        export(trained, tmp_path / "theirs", convert_script=str(script()))[1],
    )
    assert theirs == ours


def test_a_script_that_is_not_there_is_named_by_its_setting(trained: Path, tmp_path: Path) -> None:
    with pytest.raises(ExportError, match=r"\[training\] convert_script = '.*nowhere\.py' does not exist"):
        export(trained, tmp_path / "ws", convert_script=str(tmp_path / "nowhere.py"))
