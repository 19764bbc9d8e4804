"""The endpoints on tasks: what is on record, and a decision that is the same one whichever door it comes through."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from cipher_nb.cockpit import TaskPanel
from cipher_nb.workspace import Workspace
from tests.sandbox.conftest import BROKEN, git, make_project
from tests.server.doubles import Jupyter

FIXED = "def add(a, b):\n    return a + b\n"
EDIT = {"op": "replace", "path": "calc.py", "search": "a - b", "replace": "a + b"}
PROPOSAL = json.dumps({"intent": "make add add", "edits": [EDIT]})


@pytest.fixture
def ws(spare: Jupyter) -> Iterator[Workspace]:
    """A git repository with a wrong `calc.add`, as the workspace of `spare`; it is taken away after the test."""
    root = spare.root.parent / "named"
    shutil.rmtree(root)
    yield Workspace.init(make_project(root))
    shutil.rmtree(root)
    root.mkdir()


@pytest.fixture
def client(spare: Jupyter, ws: Workspace) -> Iterator[httpx.Client]:
    with spare.client() as client:
        yield client


def verified(ws: Workspace, intent: str = "") -> str:
    return ws.tasks.verify(PROPOSAL, intent=intent, checks=["true"]).id


def cipher_nb(ws: Workspace, *arguments: str) -> Any:
    command = [sys.executable, "-m", "cipher_nb.cli", *arguments, "--json"]
    return json.loads(subprocess.run(command, cwd=ws.paths.root, capture_output=True, check=True).stdout)


def test_tasks_are_listed_newest_first_without_what_is_asked_for_one_by_one(
    client: httpx.Client, ws: Workspace
) -> None:
    assert client.get("tasks").json() == []
    ids = [verified(ws, intent) for intent in ("one", "two", "three")]
    listed = client.get("tasks").json()
    assert [(task["task"], task["intent"]) for task in listed] == [(ids[2], "three"), (ids[1], "two"), (ids[0], "one")]
    assert {"diff", "proposal", "base_hashes"} & listed[0].keys() == set()
    assert [task["intent"] for task in client.get("tasks", params={"limit": 2}).json()] == ["three", "two"]


def test_one_task_is_the_record_on_disk_with_its_diff(client: httpx.Client, ws: Workspace) -> None:
    task = verified(ws)
    found = client.get(f"tasks/{task}").json()
    assert found == json.loads(json.dumps(ws.tasks.get(task).to_json())) | {"task": task}
    assert "+    return a + b" in found["diff"]


def test_from_approval_to_commit(client: httpx.Client, ws: Workspace) -> None:
    task = verified(ws)
    approved = client.post(f"tasks/{task}/approve", json={"pattern": "Fixes the function"})
    assert (approved.status_code, approved.json()["status"], approved.json()["pattern"]) == (
        (200, "approved", "Fixes the function")
    )
    assert (ws.paths.root / "calc.py").read_text() == FIXED
    shipped = client.post(f"tasks/{task}/ship").json()
    assert git(ws.paths.root, "log", "-1", "--format=%H %s").strip() == f"{shipped['commit_sha']} make add add"


def test_an_approval_is_taken_back(client: httpx.Client, ws: Workspace) -> None:
    task = verified(ws)
    client.post(f"tasks/{task}/approve")
    assert client.post(f"tasks/{task}/undo", json={}).json()["status"] == "undone"
    assert (ws.paths.root / "calc.py").read_text() == BROKEN


def test_a_rejection_keeps_its_reason_and_pattern(client: httpx.Client, ws: Workspace) -> None:
    task = verified(ws)
    rejected = client.post(f"tasks/{task}/reject", json={"reason": "too clever", "pattern": "One-liners"}).json()
    assert (rejected["status"], rejected["reason"], rejected["pattern"]) == ("rejected", "too clever", "One-liners")
    [event] = ws.bus.read_state(type="rejection")
    assert (event.task, event.pattern, event.fields["reason"]) == (task, "One-liners", "too clever")


@pytest.mark.slow
@pytest.mark.parametrize("doors", [("cli", "widget", "http"), ("widget", "http", "cli"), ("http", "cli", "widget")])
def test_three_doors_lead_to_one_approval(client: httpx.Client, ws: Workspace, doors: tuple[str, ...]) -> None:
    task, panel = verified(ws), TaskPanel(ws)
    panel.show(task)
    for door in doors:
        if door == "cli":
            assert cipher_nb(ws, "approve", task, "--pattern", "Seen by three")["status"] == "approved"
        elif door == "widget":
            panel.decision.pattern.value = "Seen by three"
            panel.decision.approve.click()
            assert f"{task} is approved" in panel.status.value
        else:
            answer = client.post(f"tasks/{task}/approve", json={"pattern": "Seen by three"})
            assert answer.json()["status"] == "approved"
    assert [(event.task, event.pattern) for event in ws.bus.read_state(type="approval")] == [(task, "Seen by three")]
    assert client.get(f"tasks/{task}").json() == cipher_nb(ws, "approve", task)


def test_many_at_once_are_one_approval_and_one_commit(client: httpx.Client, ws: Workspace) -> None:
    task = verified(ws)
    with ThreadPoolExecutor(8) as pool:
        for decision in ("approve", "ship"):
            answers = list(pool.map(client.post, [f"tasks/{task}/{decision}"] * 8))
            assert [answer.status_code for answer in answers] == [200] * 8
    assert [event.type for event in ws.bus.read_state(type=["approval", "ship"])] == ["ship", "approval"]
    assert git(ws.paths.root, "rev-list", "--count", "HEAD").strip() == "2"


@pytest.mark.parametrize("task", ["019a1b2c3d4e5f60718293", "no-id", "..%2F..%2Fcalc", "%00"])
def test_a_task_that_is_none_is_404(client: httpx.Client, ws: Workspace, task: str) -> None:
    bodies: dict[str, dict[str, str]] = {"approve": {}, "reject": {"reason": "r"}, "ship": {}, "undo": {}}
    answers = [
        client.get(f"tasks/{task}"),
        *(client.post(f"tasks/{task}/{name}", json=bodies[name]) for name in bodies),
    ]
    for answer in answers:
        assert answer.status_code == 404
        assert "there is no task" in answer.json()["message"]


def test_a_wrong_state_is_409_and_says_which(client: httpx.Client, ws: Workspace) -> None:
    task = verified(ws)
    for decision, body, sentence in (
        ("ship", {}, "is verified; only an approved task can be shipped"),
        ("undo", {}, "is verified and cannot be undone"),
        ("reject", {"reason": "no"}, None),
        ("approve", {}, "is rejected and cannot be approved: no"),
    ):
        answer = client.post(f"tasks/{task}/{decision}", json=body)
        assert answer.status_code == (409 if sentence else 200)
        assert sentence is None or sentence in answer.json()["message"]


def test_a_file_that_changed_meanwhile_is_409(client: httpx.Client, ws: Workspace) -> None:
    task = verified(ws)
    (ws.paths.root / "calc.py").write_text("# the operator was here\n")
    refused = client.post(f"tasks/{task}/approve")
    assert (refused.status_code, refused.json()["reason"]) == (409, "Conflict")
    assert "calc.py changed since the proposal was verified" in refused.json()["message"]
    assert ws.bus.read_state(type="approval") == []


@pytest.mark.parametrize(
    ("decision", "body", "sentence"),
    [
        ("reject", {}, "reason is missing or empty; give a text"),
        ("reject", {"reason": "  "}, "reason is missing or empty; give a text"),
        ("reject", {"reason": "r", "patern": "p"}, "patern = 'p' is unknown; did you mean pattern?"),
        ("reject", {"reason": ["r"]}, "reason = ['r'] is no text; give one"),
        ("approve", {"pattern": None}, "pattern = None is no text; give one"),
        ("ship", {"message": "m"}, "message = 'm' is unknown; this endpoint takes an empty object"),
        ("approve", [], "the body is a JSON list; send one JSON object"),
    ],
)
def test_a_body_that_is_wrong_is_400_and_decides_nothing(
    client: httpx.Client, ws: Workspace, decision: str, body: Any, sentence: str
) -> None:
    task = verified(ws)
    refused = client.post(f"tasks/{task}/{decision}", json=body)
    assert (refused.status_code, refused.json()["message"]) == (400, sentence)
    assert ws.tasks.get(task).status == "verified"


def test_a_hook_that_takes_its_time_holds_up_no_event(client: httpx.Client, ws: Workspace) -> None:
    hook = ws.paths.root / ".git" / "hooks" / "pre-commit"
    hook.write_text("#!/bin/sh\nuntil test -e done; do sleep 0.05; done\n")
    hook.chmod(0o755)
    task = verified(ws)
    client.post(f"tasks/{task}/approve")
    with ThreadPoolExecutor(6) as pool:
        shipping = [pool.submit(client.post, f"tasks/{task}/ship") for _ in range(6)]
        event = {"type": "preference", "pattern": "p", "direction": "prefer"}
        assert [client.post("events", json=event).status_code for _ in range(4)] == [201] * 4
        assert not any(ship.done() for ship in shipping)
        (ws.paths.root / "done").touch()
        assert [ship.result().status_code for ship in shipping] == [200] * 6
