"""The endpoints on the bus: what they answer, and that nobody waits for somebody else's lock."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from cipher_nb.adapters.changelog import Changelog, publish
from cipher_nb.workspace import Workspace
from tests.server.conftest import use
from tests.server.doubles import Jupyter, SmallEngine

APPROVAL = {"type": "approval", "tool": "edit", "pattern": "Reads before it writes", "summary": "x"}


@pytest.fixture
def client(lab: Jupyter) -> Iterator[httpx.Client]:
    with lab.client() as client:
        yield client


@pytest.fixture
def other(spare: Jupyter, fresh: Workspace) -> Iterator[httpx.Client]:
    """A client of the server whose workspace the test may disturb."""
    with spare.client() as client:
        yield client


def test_an_event_is_written_and_found_again(client: httpx.Client) -> None:
    sent = {
        "type": "gate",
        "gate": "pytest",
        "passed": True,
        "duration_ms": 12,
        "task": "t1",
        "session": "s1",
        "by": "me",
    }
    written = client.post("events", json=sent)
    assert (written.status_code, written.json()["written"]) == (201, True)
    found = client.get("state", params={"type": ["gate", "ship"], "task": "t1", "session": "s1", "since": "1h"}).json()
    assert [{**event, "ts": "now"} for event in found] == [{**sent, "ts": "now", "id": written.json()["id"]}]
    assert client.get("state", params={"task": "t1", "until": "1h"}).json() == []
    assert client.get("state", params={"task": "t1", "type": "ship"}).json() == []


def test_an_events_own_id_and_time_are_kept(client: httpx.Client) -> None:
    sent = {**APPROVAL, "type": "rejection", "id": "mine", "ts": 1796032800000, "task": "t2"}
    assert client.post("events", json=sent).json() == {"written": True, "id": "mine"}
    assert client.get("state", params={"task": "t2"}).json()[0]["ts"] == "2026-11-30T10:00:00.000Z"


def test_state_is_newest_first_and_bounded(other: httpx.Client, fresh: Workspace) -> None:
    for number in range(120):
        fresh.bus.append("error", source="test", message=str(number))
    assert [event["message"] for event in other.get("state", params={"limit": 2}).json()] == ["119", "118"]
    assert len(other.get("state").json()) == 100
    assert len(other.get("state", params={"limit": 1000}).json()) == 120


def test_three_approvals_are_learned_and_in_the_scaffold(other: httpx.Client) -> None:
    for votes in (1, 2, 3):
        assert other.post("events", json=APPROVAL).status_code == 201
        assert len(other.get("learned").json()) == (votes == 3)
    expected = {"pattern": "Reads before it writes", "approved": 3, "count": 3, "rate": 1.0}
    assert other.get("learned").json() == [{**expected, "line": "[learned] Reads before it writes"}]
    scaffold = other.get("scaffold").json()
    assert scaffold["text"].endswith("\n[learned] Reads before it writes")
    assert (scaffold["lines"], scaffold["bytes"], scaffold["dropped"]) == (2, len(scaffold["text"]), [])
    assert other.get("learned", params={"min_count": 4}).json() == []


def test_the_json_is_that_of_the_command_line(client: httpx.Client, lab: Jupyter) -> None:
    for path, command in (("learned", ["learned"]), ("scaffold?tier=small", ["scaffold", "--tier", "small"])):
        done = subprocess.run(
            [sys.executable, "-m", "cipher_nb.cli", *command, "--json"], cwd=lab.root, capture_output=True, check=True
        )
        assert client.get(path).json() == json.loads(done.stdout)


def test_the_changelog_is_the_newest_or_null(other: httpx.Client, fresh: Workspace) -> None:
    assert other.get("changelog").json() is None
    night = Changelog("2020-01-01-0210", "2020-01-01T02:10:00Z", "a1", "PROVEN", ("Uses pathlib",), 1, 0.04, -0.02)
    publish(fresh.paths.changelog, night)
    found = other.get("changelog").json()
    assert (found["ref"], found["status"], found["stale"]) == (night.ref, "pending", True)
    assert found["age_hours"] > 24
    assert found["text"].endswith("[APPLY]  [REVIEW]  [SKIP]")


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ({**APPROVAL, "summary": None}, "summary"),
        ({"type": "approval", "tool": "edit"}, "approval event without pattern, summary was not written"),
        ({"tool": "edit"}, "type = None is not the type of an event"),
        ({"type": ["approval"]}, "type = ['approval'] is not the type of an event"),
        ({**APPROVAL, "files": ["a.py"]}, "files = ['a.py'] is not flat"),
        ({**APPROVAL, "ts": "noon"}, "approval event with ts 'noon' was not written"),
        ({**APPROVAL, "id": 7}, "approval event with id 7 was not written"),
        ([APPROVAL], "the body is a JSON list; send one JSON object"),
    ],
)
def test_an_invalid_event_is_refused_with_the_sentence_that_names_it(
    client: httpx.Client, body: Any, sentence: str
) -> None:
    refused = client.post("events", json=body)
    assert (refused.status_code, refused.json()["reason"]) == (400, "Bad Request")
    assert sentence in refused.json()["message"]


@pytest.mark.parametrize("body", [b"", b"{", b"{'type': 1}", b'{"type": "\xff"}'])
def test_a_body_that_is_no_json_is_refused(client: httpx.Client, body: bytes) -> None:
    refused = client.post("events", content=body)
    assert refused.status_code == 400
    assert "the body is not valid JSON" in refused.json()["message"]


def test_a_body_over_one_mebibyte_is_413(client: httpx.Client) -> None:
    bare = json.dumps({**APPROVAL, "summary": ""})
    fits = json.dumps({**APPROVAL, "summary": "x" * (1024 * 1024 - len(bare))})
    assert client.post("events", content=fits).status_code == 201
    refused = client.post("events", content=fits + " ")
    assert refused.status_code == 413
    assert refused.json()["message"] == "the body has 1048577 bytes; send at most 1048576"


@pytest.mark.parametrize(
    ("address", "sentence"),
    [
        ("state?limit=0", "limit = '0' is not a whole number from 1 to 1000"),
        ("state?since=yesterday", "since = 'yesterday' is no time"),
        ("state?limit=%FF", "limit = '\ufffd' is not"),
        ("learned?min_count=x", "min_count = 'x' is not"),
        ("scaffold?tier=mikro", "did you mean micro?"),
        ("changelog?limit=1", "limit = '1' is unknown; this endpoint takes no parameters"),
    ],
)
def test_a_bad_query_is_400_and_says_what_is_wrong(client: httpx.Client, address: str, sentence: str) -> None:
    refused = client.get(address)
    assert (refused.status_code, refused.headers["Content-Type"]) == (400, "application/json")
    assert sentence in refused.json()["message"]


def test_a_bus_that_cannot_be_written_to_is_503(other: httpx.Client, fresh: Workspace) -> None:
    fresh.paths.bus.mkdir()
    refused = other.post("events", json=APPROVAL)
    assert (refused.status_code, refused.json()["reason"]) == (503, "Service Unavailable")
    assert "the event was not written" in refused.json()["message"]


def test_a_bus_that_cannot_be_read_is_500_and_named(other: httpx.Client, fresh: Workspace) -> None:
    fresh.paths.bus.mkdir()
    refused = other.get("state")
    assert (refused.status_code, refused.json()["message"]) == (500, f"{fresh.paths.bus}: Is a directory")


def test_without_a_workspace_every_endpoint_says_how_to_make_one(spare: Jupyter, engine: SmallEngine) -> None:
    chat = {"messages": [{"role": "user", "content": "q"}]}
    with spare.client() as client:
        for path in ("state", "learned", "scaffold", "changelog"):
            assert client.get(path).status_code == 404
            assert client.get(path).json()["message"].endswith("make one with: cipher-nb init")
        assert client.post("events", json=APPROVAL).status_code == 404
        for refused in (client.post("v1/chat/completions", json=chat), client.get("v1/models")):
            assert refused.status_code == 404
            assert refused.json()["error"]["message"].endswith("make one with: cipher-nb init")
        assert client.get("openapi.json").status_code == 200


def test_a_changed_cipher_toml_is_read_and_a_broken_one_named(
    other: httpx.Client, fresh: Workspace, engine: Any
) -> None:
    fresh.paths.config.write_text('[scaffold]\ndoctrine = "Be brief."\n')
    _touch(fresh.paths.config, 1)
    assert other.get("scaffold").json()["text"] == "Be brief."
    fresh.paths.config.write_text("[scaffold]\ndoctrin = 1\n")
    _touch(fresh.paths.config, 2)
    broken = other.get("scaffold")
    assert broken.status_code == 500
    assert "[scaffold] doctrin is unknown; did you mean doctrine?" in broken.json()["message"]
    use(fresh, engine)
    _touch(fresh.paths.config, 3)
    assert other.get("scaffold").status_code == 200


def test_while_a_lock_is_held_writers_wait_and_readers_do_not(other: httpx.Client, fresh: Workspace) -> None:
    other.post("events", json=APPROVAL)
    with _locked(fresh.paths.bus) as holder, ThreadPoolExecutor(12) as pool:
        writers = [pool.submit(other.post, "events", json=APPROVAL) for _ in range(12)]
        time.sleep(0.3)
        started = time.monotonic()
        assert [other.get(path).status_code for path in ("learned", "state", "scaffold")] == [200, 200, 200]
        assert time.monotonic() - started < 10  # a writer would wait for 30
        assert not any(writer.done() for writer in writers)
        holder.communicate(b"\n")
        assert [writer.result().status_code for writer in writers] == [201] * 12
    assert other.get("learned").json()[0]["count"] == 13


def _touch(path: Path, seconds: int) -> None:
    moment = time.time() + seconds
    os.utime(path, (moment, moment))


def _locked(path: Path) -> subprocess.Popen[bytes]:
    """Start a process that holds the lock of `path` until it is told a line."""
    code = "import fcntl, sys; f = open(sys.argv[1], 'ab'); fcntl.flock(f, fcntl.LOCK_EX); print(flush=True); input()"
    holder = subprocess.Popen([sys.executable, "-c", code, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert holder.stdout is not None
    holder.stdout.readline()
    return holder
