from cipher_nb.config import TrainingSettings
from cipher_nb.training.manifest import manifest_of
from tests.training.conftest import pair


def test_the_manifest_names_base_pairs_events_settings_versions_and_losses(tmp_path):
    base = tmp_path / "base.gguf"
    base.write_bytes(b"")
    one = pair("q", "a", event_ids=("gate-1", "ship-2"), task="t1")
    manifest = manifest_of(adapter="abc", base_gguf=base, pairs=[one], settings=TrainingSettings(), losses=[2.0, 1.5])
    assert manifest["base"] == {
        "name": "base.gguf",
        "sha256": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    }
    assert manifest["pairs"] == [{"id": one.id, "source": "approved", "task": "t1", "event_ids": ["gate-1", "ship-2"]}]
    assert (manifest["settings"]["rank"], manifest["losses"], manifest["adapter"]) == (8, [2.0, 1.5], "abc")
    assert manifest["versions"]["peft"].startswith("0.")
