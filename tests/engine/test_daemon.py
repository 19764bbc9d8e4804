"""The served engine outlives its starter, is found again, replaced and retired."""

from __future__ import annotations

from pathlib import Path

import pytest

from cipher_nb.config import EngineSettings
from cipher_nb.engine import daemon
from cipher_nb.errors import EngineError
from tests.engine.test_server import spec_for

pytestmark = pytest.mark.model


def test_a_daemon_is_found_through_its_record_and_gone_after_retiring(embedded_gguf: Path, tmp_path: Path) -> None:
    record = tmp_path / "engine.json"
    launched = daemon.launch(spec_for(embedded_gguf, tmp_path), record)
    try:
        found = daemon.find(record)
        assert found == launched
        with found.client(EngineSettings()) as client:
            assert client.healthy()
        assert Path(found.key_file).stat().st_mode & 0o077 == 0
        assert daemon.holds(found, model=embedded_gguf, adapters=[])
        assert not daemon.holds(found, model=embedded_gguf, adapters=[tmp_path / "a.gguf"])
    finally:
        daemon.retire(launched, record)
    assert daemon.find(record) is None
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("engine")] == ["engine.log"]
    with pytest.raises(EngineError, match="is gone; run: cipher-nb engine stop"):
        launched.client(EngineSettings())


def test_retiring_the_old_one_leaves_the_new_ones_record(embedded_gguf: Path, tmp_path: Path) -> None:
    record = tmp_path / "engine.json"
    blue = daemon.launch(spec_for(embedded_gguf, tmp_path), record)
    green = daemon.launch(spec_for(embedded_gguf, tmp_path), record)
    try:
        daemon.retire(blue, record)
        assert daemon.find(record) == green
    finally:
        daemon.retire(green, record)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"pid": 1}'])
def test_a_broken_record_counts_as_no_daemon(tmp_path: Path, text: str) -> None:
    record = tmp_path / "engine.json"
    record.write_text(text)
    assert daemon.find(record) is None


def test_a_record_whose_process_is_another_one_now_counts_as_no_daemon(tmp_path: Path) -> None:
    record = tmp_path / "engine.json"
    record.write_text(
        '{"url": "http://127.0.0.1:9", "pid": 1, "started": 12.0, "key_file": "k", "model": "m", "adapters": []}'
    )
    assert daemon.find(record) is None
