import json

import pytest

from cipher_nb.errors import TrainingError
from cipher_nb.training.data.dataset import combine
from cipher_nb.training.data.pairs import Pair
from cipher_nb.training.data.replay_file import read_replay_file
from tests.training.conftest import pair

ROW = {"question": "Hi?", "answer": "Hello."}


def written(tmp_path, *lines):
    path = tmp_path / "replay.jsonl"
    path.write_bytes(b"\n".join(line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines))
    return path


def test_rows_of_several_shapes_become_replay_in_the_order_of_the_file(tmp_path):
    rows = read_replay_file(written(tmp_path, ROW, b"", {"prompt": "Bye?", "completion": "Bye."}, b"\r"))
    assert rows == [
        Pair(({"role": "user", "content": "Hi?"},), "Hello.", source="replay"),
        Pair(({"role": "user", "content": "Bye?"},), "Bye.", source="replay"),
    ]


def test_a_byte_order_mark_does_not_matter(tmp_path):
    assert len(read_replay_file(written(tmp_path, b"\xef\xbb\xbf" + json.dumps(ROW).encode()))) == 1


KNOWN = (
    'known shapes: {"messages": [{"role", "content"}, …]}, {"conversations": [{"from", "value"}, …]}, '
    '{"prompt", "completion"}, {"prompt", "response"}, {"instruction", "input", "output"}, {"question", "answer"}'
)


def test_a_bad_line_is_named_by_file_and_number_with_what_was_found_and_what_is_known(tmp_path):
    path = written(tmp_path, ROW, b"", {"text": "Hi? Hello."}, ROW)
    with pytest.raises(TrainingError) as raised:
        read_replay_file(path)
    assert str(raised.value) == f"{path}, line 3: it has the keys 'text'; {KNOWN}"


@pytest.mark.parametrize("line", [b'{"question": "Hi?", "ans', b"\xff\xfe", b"question,answer", b"NaN"])
def test_a_line_that_is_no_json_is_named(tmp_path, line):
    path = written(tmp_path, ROW, line)
    with pytest.raises(TrainingError, match=rf"^{path}, line 2: it is no JSON \(.*one object a line is needed"):
        read_replay_file(path)


def test_a_missing_file_is_named_with_the_setting(tmp_path):
    with pytest.raises(TrainingError) as raised:
        read_replay_file(tmp_path / "none.jsonl")
    assert str(raised.value) == (
        f"[training] replay_file = '{tmp_path}/none.jsonl' cannot be read (No such file or directory); "
        "name a JSONL file, or leave it out"
    )


@pytest.mark.parametrize("content", [b"", b"\n \n"])
def test_an_empty_file_is_named_with_the_setting(tmp_path, content):
    with pytest.raises(TrainingError, match=r"^\[training\] replay_file = .*replay\.jsonl' holds nothing; fill it"):
        read_replay_file(written(tmp_path, content))


def test_of_more_rows_than_are_needed_the_seed_chooses(tmp_path):
    replay = read_replay_file(written(tmp_path, *({"question": f"Say {n}.", "answer": str(n)} for n in range(1000))))
    new = [pair(f"What is {number} squared?", str(number * number)) for number in range(70)]

    one, again, other = (combine(new, replay, share=0.3, seed=seed, sealed_texts=()) for seed in (1, 1, 2))
    assert one == again
    assert (one.replay_count, other.replay_count) == (30, 30)
    assert {each.id for each in one.pairs} != {each.id for each in other.pairs}


def test_rows_are_screened_like_all_others(tmp_path):
    sealed = "one two three four five six seven eight"
    rows = [
        {"question": "What is 2 squared?", "answer": "4"},
        {"question": "Key?", "answer": "AKIAIOSFODNN7EXAMPLE"},
        {"question": f"Say {sealed} nine.", "answer": "no"},
        {"question": "Nothing?", "answer": ""},
        {"question": "Whose?", "answer": "project bluebird"},
        ROW,
    ]
    new = [pair("What is 2 squared?", "4"), *(pair(f"What is {n} cubed?", str(n**3)) for n in range(5, 15))]
    replay = read_replay_file(written(tmp_path, *rows))
    dataset = combine(new, replay, share=0.3, seed=0, sealed_texts=[sealed], secrets=["bluebird"])
    assert [each.response for each in dataset.pairs if each.source == "replay"] == ["Hello."]
    assert sorted(row.reason for row in dataset.dropped) == [
        f"duplicate of {new[0].id}",
        "holds an AWS key",
        "holds an operator's own pattern",
        "its answer is empty",
        "shares 'one two three four five six seven eight' with a sealed sample",
    ]
    assert {row.source for row in dataset.dropped} == {"replay"}
    assert dataset.notes == ("replay: 1 pairs instead of 5",)
