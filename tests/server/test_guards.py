"""Who gets in: nobody without the token, nobody without the right, and no foreign page with the operator's cookie."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from tornado.web import RequestHandler

from cipher_nb.server.handlers import HANDLERS
from cipher_nb.server.proxy import PROXY_HANDLERS
from cipher_nb.server.tasks import TASK_HANDLERS
from cipher_nb.workspace import Workspace
from tests.server.doubles import TOKEN, Jupyter, SmallEngine

EVENT = {"type": "preference", "pattern": "guards", "direction": "prefer"}
ENDPOINTS = [
    ("GET", "state"),
    ("GET", "learned"),
    ("GET", "scaffold"),
    ("GET", "changelog"),
    ("POST", "events"),
    ("GET", "openapi.json"),
    ("GET", "tasks"),
    ("GET", "tasks/{task}"),
    ("POST", "tasks/{task}/approve"),
    ("POST", "tasks/{task}/reject"),
    ("POST", "tasks/{task}/ship"),
    ("POST", "tasks/{task}/undo"),
    ("POST", "v1/chat/completions"),
    ("GET", "v1/models"),
]
TASK = "019a1b2c3d4e5f60718293"
VERBS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
HEX = "ab" * 16
WITHOUT_TOKEN: dict[str, dict[str, str]] = {
    "no token": {},
    "a wrong token": {"Authorization": "token open"},
    "a wrong key": {"Authorization": "Bearer open"},
    "another scheme": {"Authorization": f"Basic {TOKEN}"},
    "past the XSRF check": {"Cookie": f"_xsrf={HEX}", "X-XSRFToken": HEX},
}


def address(path: str) -> str:
    """Return the path with a task in it, which need not exist."""
    return path.replace("{task}", TASK)


def test_the_endpoints_below_are_all_there_are() -> None:
    found = [
        (verb, path.removeprefix("/api/cipher/").replace("[.]", ".").replace("(?P<task>[^/]+)", "{task}"))
        for path, handler in (*HANDLERS, *TASK_HANDLERS, *PROXY_HANDLERS)
        for verb in VERBS
        if getattr(handler, verb.lower()) is not RequestHandler._unimplemented_method
    ]
    assert found == ENDPOINTS


@pytest.mark.parametrize("headers", WITHOUT_TOKEN.values(), ids=WITHOUT_TOKEN)
@pytest.mark.parametrize(("verb", "path"), ENDPOINTS)
def test_without_the_token_every_endpoint_is_shut(
    lab: Jupyter, spare: Jupyter, verb: str, path: str, headers: dict[str, str]
) -> None:
    for server in (lab, spare):  # spare: Jupyter's own guard before every handler is off, ours alone is left
        with server.bare(**headers) as client:
            refused = client.request(verb, address(path), json=EVENT if verb == "POST" else None)
            assert (refused.status_code, refused.headers["Content-Type"]) == (403, "application/json")


@pytest.mark.parametrize(("verb", "path"), ENDPOINTS)
def test_whoever_may_not_read_or_write_cipher_is_refused(lab: Jupyter, verb: str, path: str) -> None:
    action = "write" if verb == "POST" else "read"
    with lab.client(**{"X-May-Not": f"{action} cipher"}) as client:
        refused = client.request(verb, address(path), json=EVENT if verb == "POST" else None)
        assert refused.status_code == 403
        assert f"not authorized to {action} on resource: cipher" in refused.text


@pytest.mark.parametrize("path", sorted({path for _, path in ENDPOINTS}))
def test_any_other_verb_is_405_as_json(lab: Jupyter, path: str) -> None:
    with lab.client() as client:
        for verb in VERBS:
            if (verb, path) not in ENDPOINTS:
                refused = client.request(verb, address(path))
                assert (refused.status_code, refused.headers["Content-Type"]) == (405, "application/json")
    with lab.bare() as client:
        assert client.request("PUT", address(path)).status_code == 403
        assert client.options(address(path)).text == ""


@pytest.mark.parametrize("headers", [{"Authorization": f"token {TOKEN}"}, {"Authorization": f"Bearer {TOKEN}"}])
def test_the_token_opens_as_jupyter_and_as_openai_clients_send_it(lab: Jupyter, headers: dict[str, str]) -> None:
    with lab.bare(**headers) as client:
        assert client.get("learned").status_code == 200
        assert client.post("events", json=EVENT).status_code == 201


def test_the_token_opens_in_the_address_too(lab: Jupyter) -> None:
    with lab.bare() as client:
        assert client.get("learned", params={"token": TOKEN}).status_code == 200


def test_only_under_the_base_url(lab: Jupyter) -> None:
    address = lab.api.replace("/lab/api", "/api")
    headers = {"Authorization": f"token {TOKEN}"}
    assert httpx.get(f"{address}learned", headers=headers, trust_env=False).status_code == 404


@pytest.fixture
def logged_in(spare: Jupyter, fresh: Workspace, engine: SmallEngine) -> Any:
    """A browser that logged in: it has the cookies, and sends no token any more."""
    with spare.bare() as client:
        client.get(f"{spare.url}login")
        client.get(f"{spare.url}login", params={"token": TOKEN})
        assert "_xsrf" in client.cookies
        yield client


@pytest.mark.parametrize("path", ["tasks/{task}/approve", "tasks/{task}/ship"])
def test_the_cookie_alone_decides_no_task(logged_in: httpx.Client, path: str) -> None:
    refused = logged_in.post(address(path), json={})
    assert refused.status_code == 403
    assert "_xsrf" in refused.text
    xsrf = {"X-XSRFToken": logged_in.cookies["_xsrf"]}
    assert logged_in.post(address(path), json={}, headers=xsrf).status_code == 404


@pytest.mark.parametrize("path", ["events", "v1/chat/completions"])
def test_the_cookie_alone_writes_nothing(logged_in: httpx.Client, fresh: Workspace, engine: Any, path: str) -> None:
    body = EVENT if path == "events" else {"messages": [{"role": "user", "content": "q"}]}
    refused = logged_in.post(path, json=body)
    assert refused.status_code == 403
    assert "_xsrf" in refused.text
    assert (fresh.bus.read_state(), engine.asked) == ([], [])
    xsrf = {"X-XSRFToken": logged_in.cookies["_xsrf"]}
    assert logged_in.post(path, json=body, headers=xsrf).status_code in (200, 201)


def test_the_cookie_reads(logged_in: httpx.Client) -> None:
    assert logged_in.get("learned").json() == []
