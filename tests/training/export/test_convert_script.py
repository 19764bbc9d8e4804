"""The operator's own convert_lora_to_gguf.py in the place of our export."""

from dataclasses import replace
from pathlib import Path

import pytest

from cipher_nb.errors import ExportError
from cipher_nb.training.compat import check_adapter
from cipher_nb.training.export import Converter, export_adapter
from tests.training.llama_cpp_script import convert_all, read_gguf, script


@pytest.fixture
def home(tmp_path, tiny_checkpoint):
    """Return a function that writes a script of the operator's."""

    def write(code):
        path = tmp_path / "convert_lora_to_gguf.py"
        path.write_text(code)
        return Converter(path, tiny_checkpoint)

    return write


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["f32", "f16"])
def test_llama_cpps_own_script_gives_the_file_that_we_give(tmp_path, tiny_adapter, tiny_checkpoint, tiny_gguf, dtype):
    ours = export_adapter(tiny_adapter, base_gguf=tiny_gguf, out_dir=tmp_path / "ours", dtype=dtype)
    converter = Converter(script(), tiny_checkpoint)
    theirs = export_adapter(
        tiny_adapter, base_gguf=tiny_gguf, out_dir=tmp_path / "theirs", dtype=dtype, converter=converter
    )
    assert theirs.id == ours.id
    assert theirs.path.read_bytes() == ours.path.read_bytes()
    check_adapter(theirs.path, tiny_gguf)
    assert read_gguf(theirs.path)[0]["adapter.lora.task_name"] == theirs.id


@pytest.mark.slow
def test_the_local_path_that_the_script_writes_stays_behind(tmp_path, changed, tiny_checkpoint, tiny_gguf):
    adapter = changed()
    (adapter / "README.md").write_text(f"---\nbase_model: {tiny_checkpoint}\n---\n")
    raw = tmp_path / "raw.gguf"
    convert_all([["--outfile", raw, "--base", tiny_checkpoint, adapter]])
    assert str(tiny_checkpoint).encode() in raw.read_bytes()
    converter = Converter(script(), tiny_checkpoint)
    exported = export_adapter(adapter, base_gguf=tiny_gguf, out_dir=tmp_path, converter=converter)
    assert str(tiny_checkpoint).encode() not in exported.path.read_bytes()
    assert tiny_checkpoint.name.encode() not in exported.path.read_bytes()


@pytest.mark.slow
def test_rank_stabilised_lora_gets_its_scale_from_us(tmp_path, changed, tiny_checkpoint, tiny_gguf):
    adapter, converter = changed(use_rslora=True), Converter(script(), tiny_checkpoint)
    exported = export_adapter(adapter, base_gguf=tiny_gguf, out_dir=tmp_path, converter=converter)
    assert read_gguf(exported.path)[0]["adapter.lora.alpha"] == pytest.approx(16 * 8**0.5)


@pytest.mark.parametrize(
    "values",
    [{"alpha_pattern": {"up_proj": 3}}, {"use_rslora": True, "rank_pattern": {"up_proj": 8}}],
)
def test_a_scale_that_the_script_would_get_wrong_is_refused(tmp_path, changed, home, tiny_gguf, values):
    with pytest.raises(ExportError, match=r"passes over alpha_pattern.*leave \[training\] convert_script empty"):
        export_adapter(changed(**values), base_gguf=tiny_gguf, out_dir=tmp_path / "out", converter=home(""))


@pytest.mark.parametrize(
    ("code", "named"),
    [
        ("import sys; sys.exit('base\\nnot understood')", r"failed with 1: base \| not understood"),
        ("import sys; sys.exit(3)", "failed with 3: it said nothing"),
        ("", r"wrote no adapter \(.*does not exist"),
        ("import sys; open(sys.argv[4], 'w').write('GGUF')", r"wrote no adapter \(.*damaged"),
        ("print('x' * 10_000_000); raise SystemExit('the end')", "failed with 1: the end"),
    ],
)
def test_a_script_that_fails_is_named_with_its_last_words(tmp_path, tiny_adapter, home, tiny_gguf, code, named):
    with pytest.raises(ExportError, match=named) as caught:
        export_adapter(tiny_adapter, base_gguf=tiny_gguf, out_dir=tmp_path / "out", converter=home(code))
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "out").exists()


def test_a_script_that_leaves_tensors_out_is_refused(tmp_path, tiny_adapter, home, tiny_gguf):
    made = export_adapter(tiny_adapter, base_gguf=tiny_gguf, out_dir=tmp_path).path
    code = f"""
import sys
from gguf import GGUFReader, GGUFWriter
writer = GGUFWriter(sys.argv[4], "llama")
for tensor in GGUFReader({str(made)!r}).tensors[2:]:
    writer.add_tensor(tensor.name, tensor.data)
writer.write_header_to_file(); writer.write_kv_data_to_file(); writer.write_tensors_to_file(); writer.close()
"""
    with pytest.raises(ExportError, match=r"wrote 26 tensors of 28; leave \[training\] convert_script empty"):
        export_adapter(tiny_adapter, base_gguf=tiny_gguf, out_dir=tmp_path / "out", converter=home(code))


def test_the_script_is_offline_wherever_it_is_called_from(
    tmp_path, tiny_adapter, home, tiny_checkpoint, tiny_gguf, monkeypatch
):
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    said = tmp_path / "said"
    code = f"import os, sys; open({str(said)!r}, 'w').write(repr((sys.argv[1:], os.environ['HF_HUB_OFFLINE'])))"
    with pytest.raises(ExportError):
        export_adapter(tiny_adapter, base_gguf=tiny_gguf, out_dir=tmp_path / "out", converter=home(code))
    arguments, offline = eval(said.read_text())
    assert offline == "1"
    assert arguments[:2] == ["--outtype", "f32"]
    assert arguments[4:] == ["--base", str(tiny_checkpoint), str(tiny_adapter)]


def test_a_script_that_does_not_exist_is_named(tmp_path, tiny_adapter, tiny_checkpoint, tiny_gguf):
    converter = Converter(tmp_path / "nowhere.py", tiny_checkpoint)
    with pytest.raises(ExportError, match=r"\[training\] convert_script = '.*nowhere\.py' does not exist"):
        export_adapter(tiny_adapter, base_gguf=tiny_gguf, out_dir=tmp_path / "out", converter=converter)


@pytest.mark.slow
def test_a_script_that_does_not_end_is_ended(tmp_path, tiny_adapter, home, tiny_gguf):
    pid = tmp_path / "pid"
    code = f"import os, time; open({str(pid)!r}, 'w').write(str(os.getpid())); time.sleep(600)"
    converter = replace(home(code), timeout_s=5.0)
    with pytest.raises(ExportError, match="did not end within 5 s"):
        export_adapter(tiny_adapter, base_gguf=tiny_gguf, out_dir=tmp_path / "out", converter=converter)
    assert not Path(f"/proc/{pid.read_text()}").exists()
