import struct

import numpy as np
import pytest

from cipher_nb.errors import ModelError
from cipher_nb.training.base.metadata import read_arrays, read_metadata
from tests.training.conftest import close, write_gguf

WORDS = ["a", "bb", "", "日本"]


def write(path, *, alignment=32):
    from gguf import GGUFWriter

    writer = GGUFWriter(path, "llama")
    writer.add_custom_alignment(alignment)
    writer.add_array("tokenizer.ggml.tokens", WORDS)
    writer.add_array("tokenizer.ggml.scores", [0.5, 1.5])
    writer.add_bool("general.odd", True)
    writer.add_embedding_length(3)
    writer.add_tensor("one.weight", np.arange(6, dtype=np.float32).reshape(2, 3))
    writer.add_tensor("two.weight", np.arange(4, dtype=np.float16).reshape(1, 4))
    return close(writer, path)


@pytest.mark.parametrize("alignment", [32, 128])
def test_keys_shapes_and_values_are_read_whatever_stands_between_them(tmp_path, alignment):
    found = read_metadata(write(tmp_path / "a.gguf", alignment=alignment))
    assert (found.architecture, found.vocabulary, found.hidden_size, found.layers) == ("llama", 4, 3, 0)
    assert found.shapes == {"one.weight": (2, 3), "two.weight": (1, 4)}
    values = dict(read_arrays(found))
    assert values["one.weight"].tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]
    assert (values["two.weight"].dtype, values["two.weight"].tolist()) == (np.float16, [[0.0, 1.0, 2.0, 3.0]])


def patched(path, before, after):
    content = path.read_bytes()
    assert content.count(before) == 1
    path.write_bytes(content.replace(before, after))
    return path


def u32(number):
    return struct.pack("<I", number)


@pytest.mark.parametrize(
    ("before", "after", "named"),
    [
        (b"GGUF" + u32(3), b"GGUF" + u32(9), "version 9 instead of 3"),
        (b"two.weight", b"one.weight", "one.weight is there twice"),
        (b"general.odd", b"general.\xff\xfe\xfd", "decode"),
        (b"alignment" + u32(4) + u32(32), b"alignment" + u32(4) + u32(33), "general.alignment is 33 and must be"),
        (b"alignment" + u32(4) + u32(32), b"alignment" + u32(4) + u32(0), "general.alignment is 0 and must be"),
        (b"alignment" + u32(4), b"alignment" + u32(6), "general.alignment is 4"),
        (b"general.odd" + u32(7), b"general.odd" + u32(99), "value type 99 is unknown"),
        (b"scores" + u32(9) + u32(6), b"scores" + u32(9) + u32(9), "value type 9 is unknown"),
        (b"two.weight" + u32(2), b"two.weight" + u32(200), "a tensor of 200 dimensions instead of up to 4"),
        (struct.pack("<QQI", 3, 2, 0), struct.pack("<QQI", 3, 2, 8), "a row of 3 values is no whole number of Q8_0"),
        (u32(1) + struct.pack("<Q", 32), u32(1) + struct.pack("<Q", 64), "begins at byte 64 of the data instead of 32"),
    ],
)
def test_what_llama_cpp_would_refuse_is_refused_by_name(tmp_path, before, after, named):
    path = patched(write(tmp_path / "a.gguf"), before, after)
    with pytest.raises(ModelError, match=named):
        read_metadata(path)


def test_a_key_of_the_wrong_type_is_named_for_it_would_stop_the_server(tmp_path):
    path = patched(write(tmp_path / "a.gguf"), b"general.odd", b"general.typ")
    content = path.read_bytes().replace(struct.pack("<Q", 11) + b"general.typ", struct.pack("<Q", 12) + b"general.type")
    path.write_bytes(content)
    with pytest.raises(ModelError, match=r"general\.type is no text"):
        read_metadata(path)


def test_a_header_without_tensors_that_was_cut_is_no_header(tmp_path):
    from gguf import GGUFWriter

    path = tmp_path / "a.gguf"
    writer = GGUFWriter(path, "llama")
    writer.add_array("tokenizer.ggml.tokens", WORDS)
    content = close(writer, path).read_bytes().rstrip(b"\0")
    path.write_bytes(content[:-1])
    with pytest.raises(ModelError, match="a damaged one"):
        read_metadata(path)


@pytest.mark.parametrize(("path", "named"), [("nowhere.gguf", "does not exist"), ("", "cannot be read")])
def test_no_file_and_a_folder_are_told_apart(tmp_path, path, named):
    write_gguf(tmp_path / "other.gguf")
    with pytest.raises(ModelError, match=named):
        read_metadata(tmp_path / path)
