"""The OpenAPI description: valid, the whole of what is served and no more, and true of real answers."""

from __future__ import annotations

import json
import re
from importlib.resources import files
from typing import Any

import httpx
import jsonschema
import pytest
from openapi_spec_validator import validate

from cipher_nb.adapters.changelog import Changelog, publish
from cipher_nb.workspace import Workspace
from tests.server.doubles import Jupyter, SmallEngine
from tests.server.test_guards import ENDPOINTS, address

SPEC: dict[str, Any] = json.loads((files("cipher_nb.server") / "openapi.json").read_text())
CHAT = {"messages": [{"role": "user", "content": "q"}]}
EVENTS: list[dict[str, Any]] = [
    {"type": "approval", "tool": "edit", "pattern": "p", "summary": "", "task": "t"},
    {"type": "ship", "commit_sha": "abc", "files_count": 2, "intent": "x"},
    {"type": "gate", "gate": "pytest", "passed": False, "duration_ms": 1.5},
    {"type": "phase", "from": "a", "to": "b", "engine": "e"},
    {"type": "preference", "pattern": "p", "direction": "avoid", "ts": 1796032800000},
    {"type": "error", "source": "s", "message": "m", "extra": None},
    {"type": "somebody's own", "anything": True},
]


def test_it_is_valid_openapi_3_1() -> None:
    assert SPEC["openapi"] == "3.1.0"
    validate(SPEC)


def test_its_paths_and_methods_are_those_that_are_served() -> None:
    described = {(verb.upper(), path.removeprefix("/")) for path, verbs in SPEC["paths"].items() for verb in verbs}
    assert described == set(ENDPOINTS)


@pytest.mark.slow
def test_it_is_served_and_its_server_address_leads_to_the_endpoints(lab: Jupyter) -> None:
    with lab.client() as client:
        served = client.get("openapi.json")
        assert served.json() == SPEC
        server = served.url.join(SPEC["servers"][0]["url"])
        assert client.get(f"{server}/learned").status_code == 200


@pytest.mark.slow
def test_every_endpoint_answers_as_described(spare: Jupyter, fresh: Workspace, engine: SmallEngine) -> None:
    publish(
        fresh.paths.changelog, Changelog("2026-11-30-0210", "2026-11-30T02:10:00Z", "a", "PROVEN", ("p",), 1, 0.1, 0)
    )
    with spare.client() as client:
        for event in [*EVENTS, EVENTS[0], EVENTS[0], EVENTS[0]]:
            jsonschema.validate(event, _schema(SPEC["components"]["schemas"]["NewEvent"]))
            assert _checked(client.post("events", json=event)).status_code == 201
        for path in ("state", "learned", "scaffold", "changelog", "openapi.json", "v1/models"):
            assert _checked(client.get(path)).status_code == 200
        assert _checked(client.post("v1/chat/completions", json=CHAT)).status_code == 200


def test_tasks_answer_as_described(spare: Jupyter, fresh: Workspace) -> None:
    proposal = '{"intent": "note", "edits": [{"op": "write", "path": "note.txt", "text": "x"}]}'
    first, second = (fresh.tasks.verify(proposal, checks=["true"]).id for _ in range(2))
    fresh.tasks.verify(proposal, checks=["false"])
    with spare.client() as client:
        assert [row["status"] for row in _checked(client.get("tasks")).json()] == ["failed", "verified", "verified"]
        assert "note.txt" in _checked(client.get(f"tasks/{first}")).json()["diff"]
        assert _checked(client.post(f"tasks/{first}/ship")).status_code == 409
        for decision, body in (("approve", {"pattern": "p"}), ("undo", {}), ("reject", {"reason": "r"})):
            jsonschema.validate(body, _schema(_body_of(f"/tasks/{{task}}/{decision}")))
            task = second if decision == "reject" else first
            assert _checked(client.post(f"tasks/{task}/{decision}", json=body)).status_code == 200


def test_errors_are_as_described(spare: Jupyter, fresh: Workspace, engine: SmallEngine) -> None:
    def refusals(client: httpx.Client) -> set[int]:
        found = set()
        for verb, path in ENDPOINTS:
            body = CHAT if path.startswith("v1") else EVENTS[0]
            found.add(_checked(client.request(verb, address(path), json=body if verb == "POST" else None)).status_code)
        return found

    with spare.bare() as nobody, spare.client() as client:
        assert refusals(nobody) == {403}
        for verb, path in ENDPOINTS:
            if path != "openapi.json":
                assert _checked(client.request(verb, address(path), params={"x": "1"}, json={})).status_code == 400
        for path in ("events", address("tasks/{task}/reject"), "v1/chat/completions"):
            assert _checked(client.post(path, content=b" " * (16 * 1024 * 1024 + 1))).status_code == 413
        fresh.paths.config.write_text("[engine\n")
        assert refusals(client) == {500, 200}
        fresh.paths.config.write_text('[engine]\nurl = "http://127.0.0.1:9"\n')
        fresh.paths.bus.mkdir()
        assert _checked(client.post("events", json=EVENTS[0])).status_code == 503
        assert _checked(client.get("v1/models")).status_code == 502


def test_where_there_is_no_workspace_errors_are_as_described(spare: Jupyter) -> None:
    with spare.client() as client:
        for path in ("state", "learned", "scaffold", "changelog", "tasks", address("tasks/{task}"), "v1/models"):
            assert _checked(client.get(path)).status_code == 404


@pytest.mark.parametrize("event", EVENTS[:6])
def test_the_description_asks_for_the_fields_that_the_bus_asks_for(lab: Jupyter, event: dict[str, Any]) -> None:
    schema = jsonschema.Draft202012Validator(_schema(SPEC["components"]["schemas"]["NewEvent"]))
    without = [{key: value for key, value in event.items() if key != name} for name in event]
    own = event.keys() - {"type", "ts", "task", "extra"}
    with_another = [{**event, name: value} for name in own for value in (None, "", -1, 0.5, True, "x", ["x"])]
    with lab.client() as client:
        for sent in without + with_another:
            described = schema.is_valid(sent)
            assert (client.post("events", json=sent).status_code == 201) == described, sent


def _checked(answer: httpx.Response) -> httpx.Response:
    """Return the answer, once it was found to be one that the description names."""
    path = re.sub("^/tasks/[^/]+", "/tasks/{task}", answer.url.path.partition("/api/cipher")[2])
    operation = SPEC["paths"][path][answer.request.method.lower()]
    response = _resolved(operation["responses"][str(answer.status_code)])
    kind = answer.headers["Content-Type"].partition(";")[0]
    jsonschema.validate(
        answer.json(), _schema(response["content"][kind]["schema"]), cls=jsonschema.Draft202012Validator
    )
    for name, header in response.get("headers", {}).items():
        jsonschema.validate(answer.headers[name], _schema(header["schema"]))
    return answer


def _body_of(path: str) -> dict[str, Any]:
    schema: dict[str, Any] = SPEC["paths"][path]["post"]["requestBody"]["content"]["application/json"]["schema"]
    return schema


def _resolved(node: dict[str, Any]) -> dict[str, Any]:
    found: Any = SPEC
    for step in node.get("$ref", "#").split("/")[1:]:
        found = found[step]
    return found if "$ref" in node else node


def _schema(schema: dict[str, Any]) -> dict[str, Any]:
    return {**schema, "components": SPEC["components"]}
