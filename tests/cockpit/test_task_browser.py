"""The notebook's task panel in a real JupyterLab, in a real browser, by keyboard: from intent to commit."""

from __future__ import annotations

import json
import os
import re
import shutil
import threading
from pathlib import Path

import httpx
import pytest

from cipher_nb.testing import sample_workspace
from cipher_nb.workspace import Workspace
from tests.sandbox.conftest import git, make_project
from tests.scripted_server import scripted_server
from tests.server.doubles import TOKEN, jupyter

pytestmark = [pytest.mark.browser, pytest.mark.slow]
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
NOTEBOOK = Path(__file__).parents[2] / "notebooks" / "task.ipynb"
SHOTS = os.environ.get("CIPHER_NB_TEST_SHOTS")
"""A folder for pictures of every state, for who wants to look."""

PYTEST = "python -m pytest -q -p no:cacheprovider"
MINUS = "\N{MINUS SIGN}"
INTENT = "Add by adding, and document: dd a b x"


def reply(operator: str) -> str:
    text = (
        f'"""Arithmetic."""\n\n\ndef add(a, b):\n    """Return the sum of `a` and `b`."""\n    return a {operator} b\n'
    )
    return json.dumps({"intent": INTENT, "edits": [{"op": "write", "path": "calc.py", "text": text}]})


@pytest.fixture
def page():
    if CHROMIUM is None:
        pytest.skip("no Chromium on the path; on Debian: apt-get install chromium")
    playwright = pytest.importorskip("playwright.sync_api", reason="no playwright; it is in the dev extra")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 1280, "height": 1000})
        page.set_default_timeout(120_000)
        yield page
        browser.close()


@pytest.fixture
def server():
    with scripted_server() as server:
        server.answers = [reply("*"), reply("+")]
        yield server


@pytest.fixture
def ws(tmp_path, server):
    workspace = sample_workspace(make_project(tmp_path / "project"))
    workspace.paths.config.write_text(f'[engine]\nurl = "{server.url}"\n[sandbox]\nchecks = ["{PYTEST}"]\n')
    shutil.copy(NOTEBOOK, workspace.paths.root)
    return Workspace.open(workspace.paths.root)


@pytest.fixture
def lab(ws, tmp_path, monkeypatch):
    for name in ("SETTINGS", "WORKSPACES"):
        monkeypatch.setenv(f"JUPYTERLAB_{name}_DIR", str(tmp_path / name.lower()))
    options = ("--ServerApp.jpserver_extensions", "jupyterlab=True")
    with jupyter(ws.paths.root, *options, log=tmp_path / "jupyter.log") as running:
        settings = f"{running.url}lab/api/settings/@jupyterlab/apputils-extension"
        headers = {"Authorization": f"token {TOKEN}"}
        theme = os.environ.get("CIPHER_NB_TEST_THEME", "JupyterLab Light")
        for name, raw in (("themes", {"theme": theme}), ("notification", {"fetchNews": "false"})):
            body = {"raw": json.dumps(raw)}
            httpx.put(f"{settings}:{name}", json=body, headers=headers, trust_env=False, timeout=60).raise_for_status()
        yield running


def test_from_intent_to_commit_by_keyboard(page, lab, ws, server):
    seen = threading.Event()
    server.before_answer = lambda number: number == 1 or seen.wait(120)
    run_all(page, lab)
    page.get_by_label("Intent").focus()
    shot(page, "1 nothing asked")
    page.keyboard.type(INTENT)
    page.keyboard.press("Enter")
    page.get_by_text("✗ FAILED").wait_for()
    page.get_by_role("status").filter(has_text="attempt 2: asking the model").wait_for()
    assert page.get_by_role("button", name="APPROVE").is_hidden()
    shot(page, "2 attempt 2 is asked for")
    seen.set()

    page.get_by_role("status").filter(has_text="is verified: every check passed in attempt 2").wait_for()
    page.get_by_text("✓ passed").wait_for()
    page.get_by_role("columnheader", name="after").wait_for()
    can_press(page, "APPROVE")
    assert page.get_by_role("columnheader", name=re.compile("before|after")).all_inner_texts() == ["before", "after"]
    added = page.locator("tr", has_text="return a + b")
    assert added.locator("td").all_inner_texts() == ["2", MINUS, "    return a - b", "6", "+", "    return a + b"]
    shot(page, "3 verified")

    tab_to(page, page.get_by_label("Pattern"))
    page.keyboard.type("Documents what it changes")
    tab_to(page, page.get_by_role("button", name="APPROVE"))
    page.keyboard.press("Space")
    page.get_by_role("status").filter(has_text="is approved").wait_for()
    can_press(page, "SHIP")
    assert "return a + b" in (ws.paths.root / "calc.py").read_text()
    shot(page, "4 approved")

    tab_to(page, page.get_by_role("button", name="SHIP"))
    page.keyboard.press("Enter")
    page.get_by_role("status").filter(has_text="is shipped as").wait_for()
    shot(page, "5 shipped")

    [task] = ws.tasks.list()
    assert git(ws.paths.root, "log", "-1", "--format=%H %s").strip() == f"{task.commit_sha} {INTENT}"
    assert git(ws.paths.root, "show", "--name-only", "--format=", "HEAD").split() == ["calc.py"]
    told = list(reversed(ws.bus.read_state(task=task.id)))
    assert [(event.type, event.fields.get("passed")) for event in told] == [
        ("gate", False),
        ("gate", True),
        ("approval", None),
        ("ship", None),
    ]
    assert (told[2].pattern, told[3].fields["commit_sha"]) == ("Documents what it changes", task.commit_sha)


def run_all(page, lab):
    page.goto(f"{lab.url}lab/tree/task.ipynb?token={TOKEN}")
    page.get_by_text("Python 3 (ipykernel) | Idle").wait_for()
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_text("Run All Cells", exact=True).click()
    page.get_by_label("Intent").wait_for()


def can_press(page, name):
    page.get_by_role("button", name=name, disabled=False).wait_for()


def tab_to(page, wanted):
    for _ in range(15):
        page.keyboard.press("Tab")
        if wanted.evaluate("element => element === document.activeElement"):
            return
    raise AssertionError(f"no Tab leads to {wanted}")


def shot(page, name):
    if SHOTS:
        page.screenshot(path=f"{SHOTS}/{name}.png")
