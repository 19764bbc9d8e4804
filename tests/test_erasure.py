"""Erasure: what is purged is nowhere any more, the rest is as it was, and what was made from it is marked."""

import multiprocessing
import shutil
import signal
from datetime import UTC, datetime, timedelta

import orjson
import pytest

from cipher_nb.adapters.state import Mark
from cipher_nb.errors import RegistryError
from cipher_nb.files import read_json, scratch_beside, write_json
from cipher_nb.jsonl import append_line, read_lines
from cipher_nb.records import Turn, new_id
from cipher_nb.testing import MovableClock
from cipher_nb.workspace import Workspace
from tests.sandbox.applying import die_at

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
AT = "2026-11-30T12:00:00.000Z"
REPLAY = {"id": "r", "task": "", "source": "replay", "event_ids": []}
OLD, NEW = new_id(NOON - timedelta(days=40)), new_id(NOON - timedelta(days=1))


@pytest.fixture
def ws(tmp_path):
    ws = Workspace.init(tmp_path, clock=MovableClock(NOON))
    for task, days in ((OLD, 40), (NEW, 1)):
        moment = NOON - timedelta(days=days)
        for number in range(3):
            ws.bus.append(
                "approval",
                tool="edit",
                pattern=f"Pattern of {task}",
                summary="x",
                task=task,
                ts=moment,
                id=f"{task}{number}",
            )
        messages = ({"role": "user", "content": f"words of {task}"},)
        ws.transcripts.append(Turn(new_id(moment), moment, task, "chat", messages, "reply"))
        write_json(ws.paths.tasks / f"{task}.json", {"id": task})
        (ws.paths.sandboxes / task).mkdir(parents=True)
        (ws.paths.sandboxes / task / "code.py").write_text(f"words of {task}")
        (ws.paths.undo / task / "before").mkdir(parents=True)
        (ws.paths.undo / task / "before/0").write_text(f"words of {task}")
        pair = pair_row(task, [f"{task}0"])
        append_line(ws.paths.pairs, orjson.dumps(pair))
        night = ws.paths.nights / f"night-{days}"
        append_line(night / "dataset.jsonl", orjson.dumps({"dataset": {"new": 2, "replay": 0}}))
        append_line(night / "dataset.jsonl", orjson.dumps(pair))
        append_line(night / "dataset.jsonl", orjson.dumps(pair_row("", [], source="practice:settings")))
        write_json(night / "night.json", {"status": "archived"})
        trained_on = [{key: pair[key] for key in ("id", "task", "source", "event_ids")}, REPLAY]
        (tmp_path / "made.gguf").write_bytes(b"GGUF")
        ws.registry.add(f"adapter-{days}", tmp_path / "made.gguf", manifest={"pairs": trained_on})
    ws.registry.archive("adapter-40", reason="the rule failed")
    ws.registry.stage("adapter-1")
    ws.registry.promote("adapter-1")
    return ws


def pair_row(task, events, source="approved"):
    return {
        "id": f"pair-{task}",
        "messages": [{"role": "user", "content": f"words of {task}"}],
        "response": "r",
        "event_ids": events,
        "task": task,
        "source": source,
        "finished": True,
    }


def holders(ws, words):
    files = [path for path in ws.paths.aide.rglob("*") if path.is_file()]
    return {path.relative_to(ws.paths.aide).as_posix() for path in files if words.encode() in path.read_bytes()}


def test_a_task_is_gone_from_every_file_and_the_other_one_is_not(ws):
    kept = holders(ws, NEW)
    erased = ws.purge(tasks=[OLD])
    assert holders(ws, f"words of {OLD}") == set()
    assert holders(ws, OLD) == set()
    assert holders(ws, NEW) == kept
    assert erased.to_json() == {
        "events": 3,
        "turns": 1,
        "pairs": (f"pair-{OLD}",),
        "tasks": (OLD,),
        "learned": (f"Pattern of {OLD}",),
        "datasets": ("night-40",),
        "adapters": [{"adapter": "adapter-40", "role": "archived", "at": AT, "pairs": 1}],
    }
    assert [line.pattern for line in ws.learned()] == [f"Pattern of {NEW}"]


def test_what_a_killed_writer_left_half_done_goes_too(ws):
    for path in (ws.paths.pairs, ws.paths.nights / "night-40/dataset.jsonl"):
        scratch_beside(path).write_text(f"words of {OLD}, and of others")
    ws.purge(tasks=[OLD])
    assert holders(ws, OLD) == set()


def test_what_is_older_than_a_moment_goes_with_all_that_came_from_it(ws):
    erased = ws.purge(before=NOON - timedelta(days=30))
    assert (erased.events, erased.turns, erased.tasks, erased.datasets) == (3, 1, (OLD,), ("night-40",))
    assert holders(ws, f"words of {OLD}") == set()
    assert not (ws.paths.sandboxes / OLD).exists()
    assert len(ws.bus.read_state()) == 3


def test_one_event_takes_the_pairs_that_name_it_and_the_line_that_needed_it(ws):
    erased = ws.purge(ids=[f"{NEW}0"])
    assert (erased.events, erased.turns, erased.pairs, erased.tasks) == (1, 0, (f"pair-{NEW}",), ())
    assert erased.learned == (f"Pattern of {NEW}",)
    assert list(erased.in_words())[-1] == (
        f"adapter adapter-1 (production) is marked: trained on 1 pair purged at {AT}; "
        "serve the one before with: cipher-nb rollback"
    )


def test_an_event_that_no_pair_names_takes_none(ws):
    erased = ws.purge(ids=[f"{NEW}2"])
    assert (erased.events, erased.pairs, erased.datasets, erased.adapters) == (1, (), (), ())


def test_everything_leaves_practice_and_the_audit(ws):
    with ws.paths.transcripts.open("a") as file:
        file.write('{"task":"torn words of the operator')
    erased = ws.purge(everything=True)
    assert (erased.events, erased.turns, len(erased.pairs), len(erased.tasks)) == (6, 3, 2, 2)
    assert holders(ws, "words of 0") == set()
    assert holders(ws, "torn words") == set()
    assert [row["source"] for row in read_lines(ws.paths.nights / "night-1" / "dataset.jsonl")[1:]] == [
        "practice:settings"
    ]
    assert {row["action"] for row in read_lines(ws.paths.audit)} == {"purge"}


def test_the_audit_tells_how_much_went_and_nothing_of_what(ws):
    ws.purge(tasks=[NEW])
    (row,) = read_lines(ws.paths.audit)
    assert row == {"ts": "2026-11-30T12:00:00.000Z", "action": "purge", "events": 3, "turns": 1, "pairs": 1}


def test_the_same_purge_again_finds_nothing_more(ws):
    ws.purge(tasks=[OLD])
    erased = ws.purge(tasks=[OLD])
    assert (erased.events, erased.turns, erased.pairs, erased.tasks, erased.learned) == (0, 0, (), (), ())


def test_a_mark_says_when_and_how_much_and_the_manifest_no_longer_says_what(ws):
    ws.purge(tasks=[NEW])
    assert read_json(ws.paths.adapters / "registry.json")["marked"] == {"adapter-1": {"at": AT, "pairs": 1}}
    assert ws.registry.manifest("adapter-1")["pairs"] == [{"source": "approved", "purged": True}, REPLAY]


def test_a_second_purge_adds_to_the_mark(ws):
    ws.registry.set_pairs("adapter-1", [pair_row("t1", ["e1"]), pair_row("t2", ["e2"]), pair_row("t3", ["e3"])])
    ws.purge(ids=["e1"])
    ws.clock.set(NOON + timedelta(hours=1))
    ws.purge(tasks=["t2"])
    assert ws.registry.state().marked == {"adapter-1": Mark("2026-11-30T13:00:00.000Z", 2)}
    ws.purge(tasks=["t2"])
    assert ws.registry.state().marked == {"adapter-1": Mark("2026-11-30T13:00:00.000Z", 2)}


def test_an_adapter_whose_manifest_is_broken_may_have_seen_it(ws):
    (ws.paths.adapters / "adapter-1" / "manifest.json").write_text("{")
    ws.purge(tasks=[OLD])
    assert ws.registry.state().marked == {"adapter-1": Mark(AT, None), "adapter-40": Mark(AT, 1)}


def test_with_a_damaged_registry_nothing_goes(ws):
    (ws.paths.adapters / "registry.json").write_text('{"production": "adap')
    with pytest.raises(RegistryError, match="is not valid JSON; put a copy of it back"):
        ws.purge(tasks=[OLD])
    assert len(ws.bus.read_state(task=OLD)) == 3
    (ws.paths.adapters / "registry.json").unlink()
    assert ws.purge(tasks=[OLD]).events == 3


def weights(night, *names):
    for name in names:
        (night / name).mkdir()
        (night / name / "weights.safetensors").write_bytes(b"learned")


def test_a_night_that_is_over_keeps_its_results_and_loses_what_it_trained(ws):
    night = ws.paths.nights / "night-1"
    weights(night, "training", "adapter", "export")
    write_json(night / "gate.json", {"verdict": "REGRESSION"})
    ws.purge(ids=[f"{NEW}0"])
    assert sorted(path.name for path in night.iterdir()) == ["dataset.jsonl", "gate.json", "night.json"]


@pytest.mark.parametrize("ending", [None, {"status": "stopped"}])
def test_a_night_that_is_not_over_begins_again_without_what_it_trained(ws, ending):
    night = ws.paths.nights / "night-1"
    weights(night, "training", "adapter")
    for name in ("begun", "collect", "train"):
        write_json(night / f"{name}.json", {})
    (night / "night.json").unlink()
    if ending:
        write_json(night / "night.json", ending)
    assert ws.purge(ids=[f"{NEW}0"]).datasets == ("night-1",)
    assert [path.name for path in night.iterdir()] == ["begun.json"]


def test_a_night_that_held_none_of_it_keeps_its_training(ws):
    night = ws.paths.nights / "night-1"
    (night / "night.json").unlink()
    weights(night, "training")
    ws.purge(tasks=[OLD])
    assert sorted(path.name for path in night.iterdir()) == ["dataset.jsonl", "training"]


def test_what_a_killed_trial_left_goes_when_a_pair_does(ws):
    scratch = ws.paths.trials / "scratch/adapter"
    scratch.mkdir(parents=True)
    ws.purge(ids=[f"{NEW}2"])
    assert scratch.exists()
    ws.purge(ids=[f"{NEW}0"])
    assert list(ws.paths.trials.iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize("how", ["before", "event"])
def test_killed_at_any_step_no_adapter_is_unmarked_and_the_same_purge_finishes_it(ws, tmp_path, how):
    unwanted = {"before": {"before": NOON - timedelta(days=30)}, "event": {"ids": [f"{OLD}0", "theirs0"]}}[how]
    aged = {"task": "theirs", "ts": NOON - timedelta(days=40), "id": "theirs0"}  # its age stands in no id
    ws.bus.append("approval", tool="edit", pattern="theirs", summary="x", **aged)
    append_line(ws.paths.pairs, orjson.dumps(pair_row("theirs", ["theirs0"])))
    weights(ws.paths.nights / "night-40", "adapter")
    pristine = shutil.copytree(ws.paths.root, tmp_path.parent / f"{tmp_path.name}-pristine")

    def killed_at(number):
        def purge():
            die_at(number)
            Workspace.open(ws.paths.root, clock=ws.clock).purge(**unwanted)

        process = multiprocessing.get_context("fork").Process(target=purge)
        process.start()
        process.join()
        assert process.exitcode in (0, -signal.SIGKILL)
        return process.exitcode != 0

    half_done = 0
    for number in range(1, 1000, 3):
        if not killed_at(number):
            break
        now = Workspace.open(ws.paths.root, clock=ws.clock)
        marked, gone = "adapter-40" in now.registry.state().marked, not now.bus.read_state(task=OLD, limit=3)[2:]
        assert marked or not gone
        half_done += gone
        now.purge(**unwanted)
        assert now.registry.state().marked["adapter-40"] == Mark(AT, 1)
        assert [row["id"] for row in read_lines(now.paths.pairs)] == [f"pair-{NEW}"]
        assert f"pair-{OLD}" not in (now.paths.nights / "night-40/dataset.jsonl").read_text()
        assert not (now.paths.nights / "night-40/adapter").exists()
        assert now.registry.manifest("adapter-40")["pairs"] == [{"source": "approved", "purged": True}, REPLAY]
        assert not (now.paths.aide / "purging.json").exists()
        assert not any(path.stat().st_size for path in now.paths.aide.rglob(".*.tmp"))
        shutil.rmtree(ws.paths.root)
        shutil.copytree(pristine, ws.paths.root)
    assert half_done > 3
