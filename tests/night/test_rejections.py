"""What the operator rejected, from the bus to the dataset, the manifest, and out of both again."""

from datetime import timedelta

import pytest

from cipher_nb.files import write_json
from cipher_nb.night.work import verified_work
from cipher_nb.report.datasets import dataset_summary, left_out_table
from cipher_nb.training.data.dataset import LeftOut, combine, freeze, read_dataset, read_header
from cipher_nb.training.data.pairs import Pair
from cipher_nb.training.manifest import manifest_of
from tests.night.work import approve, event, night, turn, workspace

KTO = '[training]\nrejections = "kto"\n'


@pytest.fixture
def ws(tmp_path):
    ws = workspace(tmp_path, settings=KTO)
    approve(ws, "a", "b", "c", "d", "e", "f", "g")
    for task in ("bad", "worse"):
        turn(ws, task, f"It breaks {task}.")
        event(ws, "rejection", task)
    return ws


def found(ws, folder=None):
    return verified_work(ws.parts, folder or night(ws), ws.bus.read_state(), since=ws.clock() - timedelta(hours=24))


def frozen(ws, *, replay=()):
    folder = night(ws)
    work = found(ws, folder)
    dataset = combine(
        work.pairs, replay, share=0.3, seed=0, sealed_texts=(), left_out=work.left_out, rejected=work.rejected
    )
    freeze(dataset, folder.dataset)
    return dataset, folder.dataset


def test_rejected_work_is_found_beside_the_verified_and_counts_for_nothing(ws):
    work = found(ws)
    assert [(pair.task, pair.response, pair.source) for pair in work.rejected] == [
        ("bad", "It breaks bad.", "rejected"),
        ("worse", "It breaks worse.", "rejected"),
    ]
    assert (len(work.pairs), work.new_count, work.left_out) == (7, 7, ())


def test_without_the_setting_nothing_rejected_is_looked_for(tmp_path):
    ws = workspace(tmp_path)
    turn(ws, "bad")
    event(ws, "rejection", "bad")
    assert (found(ws).rejected, found(ws).left_out) == ((), ())


def test_a_rejection_that_gives_no_pair_says_why(ws):
    event(ws, "rejection", "unseen")
    assert found(ws).left_out == (LeftOut("unseen", "rejected", "rejected without a transcript of the answer"),)


def test_a_later_approval_takes_the_rejection_back(ws):
    event(ws, "approval", "bad", minutes=5)
    assert [pair.task for pair in found(ws).rejected] == ["worse"]


def test_the_dataset_has_rejected_pairs_last_and_its_replay_is_a_share_of_the_others(ws):
    replay = [Pair(({"role": "user", "content": f"Say {n}."},), str(n), source="replay") for n in range(9)]
    event(ws, "rejection", "unseen")
    dataset, path = frozen(ws, replay=replay)
    assert [pair.task for pair in dataset.rejected] == ["bad", "worse"]
    assert read_dataset(path) == (*dataset.pairs, *dataset.rejected)
    header = read_header(path)
    assert (header["pairs"], header["new"], header["replay"], header["rejected"]) == (10, 7, 3, 2)
    assert [row["source"] for row in header["sources"]] == ["approved", "replay"]
    assert dataset_summary(path).endswith("(30.0%, 30% were asked for); beside them, 2 rejected answers.")


def test_rejected_pairs_are_screened_and_the_reason_told(ws):
    turn(ws, "secret", "Use AKIAIOSFODNN7EXAMPLE for that.")
    event(ws, "rejection", "secret")
    dataset, path = frozen(ws)
    assert [pair.task for pair in dataset.rejected] == ["bad", "worse"]
    assert [(row.source, row.reason) for row in dataset.dropped][-1] == ("rejected", "holds an AWS key")
    assert ("rejected answers", "holds an AWS key") in [row[:2] for row in left_out_table(path).rows]


def test_a_purge_takes_a_rejected_pair_out_of_the_dataset_and_marks_who_learned_from_it(ws, tmp_path):
    dataset, path = frozen(ws)
    base = tmp_path / "base.gguf"
    base.write_bytes(b"base")
    for name, pairs in (("saw", dataset.rejected), ("did-not", dataset.pairs[:1])):
        manifest = manifest_of(adapter=name, base_gguf=base, pairs=pairs, settings=ws.config.training, losses=())
        write_json(ws.paths.adapters / name / "manifest.json", manifest)
    (doomed,) = [pair for pair in dataset.rejected if pair.task == "bad"]
    erased = ws.purge(ids=doomed.event_ids)
    assert [adapter["adapter"] for adapter in erased.to_json()["adapters"]] == ["saw"]
    assert b"It breaks bad." not in b"".join(file.read_bytes() for file in path.parent.glob("*"))
    assert [pair.task for pair in found(ws).rejected] == ["worse"]
