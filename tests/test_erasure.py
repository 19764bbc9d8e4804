"""Erasure: what is purged is nowhere any more, the rest is as it was, and what was made from it is named."""

from datetime import UTC, datetime, timedelta

import orjson
import pytest

from cipher_nb.files import write_json
from cipher_nb.jsonl import append_line, read_lines
from cipher_nb.records import Turn, new_id
from cipher_nb.testing import MovableClock
from cipher_nb.workspace import Workspace

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
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
        home = ws.paths.adapters / f"adapter-{days}"
        home.mkdir(parents=True)
        write_json(
            home / "manifest.json", {"pairs": [{key: pair[key] for key in ("id", "task", "source", "event_ids")}]}
        )
    write_json(ws.paths.adapters / "registry.json", {"production": "adapter-1"})
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
    assert holders(ws, OLD) == {"adapters/adapter-40/manifest.json"}
    assert holders(ws, NEW) == kept
    assert erased.to_json() == {
        "events": 3,
        "turns": 1,
        "pairs": (f"pair-{OLD}",),
        "tasks": (OLD,),
        "learned": (f"Pattern of {OLD}",),
        "datasets": ("night-40",),
        "adapters": [{"adapter": "adapter-40", "role": "archived"}],
    }
    assert [line.pattern for line in ws.learned()] == [f"Pattern of {NEW}"]


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
    assert erased.adapters == (("adapter-1", "production"),)


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
