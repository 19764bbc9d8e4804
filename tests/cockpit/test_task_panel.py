"""The task panel: from intent to commit by clicks, against a server that answers as told, real checks and real git."""

import json
import threading
import time

import pytest

from cipher_nb.cockpit import TaskPanel, task_form
from cipher_nb.files import write_atomic
from cipher_nb.workspace import Workspace
from tests.sandbox.conftest import BROKEN, git, make_project
from tests.scripted_server import scripted_server

pytestmark = pytest.mark.slow  # every test starts processes

PYTEST = "python -m pytest -q -p no:cacheprovider"
FIXED = "def add(a, b):\n    return a + b\n"


def reply(replacement):
    edit = {"op": "replace", "path": "calc.py", "search": "a - b", "replace": replacement}
    return json.dumps({"intent": "make add add", "edits": [edit]})


WRONG, RIGHT = reply("a * b"), reply("a + b")


@pytest.fixture
def server():
    with scripted_server() as server:
        server.answers = [WRONG, RIGHT]
        yield server


@pytest.fixture
def ws(tmp_path, server):
    root = make_project(tmp_path / "project")
    workspace = Workspace.init(root)
    write_atomic(workspace.paths.config, f'[engine]\nurl = "{server.url}"\n[sandbox]\nchecks = ["{PYTEST}"]\n')
    return Workspace.open(root)


@pytest.fixture
def verified(ws):
    """A task that waits, made at the command line."""
    return ws.tasks.verify(RIGHT, checks=["true"])


def until(happened, *, timeout_s=120.0):
    deadline = time.monotonic() + timeout_s
    while not happened():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def tried(panel, intent="make add add"):
    """Type an intent, click TRY, and wait until buttons can be pressed again."""
    panel.form.intent.value = intent
    panel.form.try_button.click()
    until(lambda: not panel.busy)
    return panel


def events(ws, *types):
    return [(event.type, event.task) for event in reversed(ws.bus.read_state(type=types))]


def test_from_intent_to_commit(ws, server):
    panel = TaskPanel(ws)
    assert (panel.form.checks.value, panel.form.files.value) == (PYTEST, "")
    panel.form.files.value = "calc.py\n"
    tried(panel)
    [task] = ws.tasks.list()
    assert [(check["attempt"], check["passed"]) for check in task.checks] == [(1, False), (2, True)]
    assert "File calc.py:" in server.asked[0]["messages"][-1]["content"]
    assert f"{task.id} is verified: every check passed in attempt 2" in panel.status.value
    assert panel.state.value.count("FAILED") == panel.state.value.count("passed</td>") == 1
    assert "held in by" in panel.diff.value
    assert (ws.paths.root / "calc.py").read_text() == BROKEN
    panel.decision.pattern.value = "Fixes the function, not the test"
    panel.decision.approve.click()
    assert (ws.paths.root / "calc.py").read_text() == FIXED
    assert panel.decision.approve.disabled
    panel.decision.ship.click()
    sha = git(ws.paths.root, "log", "-1", "--format=%H").strip()
    assert git(ws.paths.root, "log", "-1", "--format=%s").strip() == "make add add"
    assert f"is shipped as {sha[:12]}" in panel.status.value
    assert sha in panel.state.value
    assert events(ws, "gate", "approval", "ship") == [(kind, task.id) for kind in ("gate", "gate", "approval", "ship")]
    [approval] = ws.bus.read_state(type="approval")
    assert approval.pattern == "Fixes the function, not the test"


def test_the_attempts_are_seen_while_they_run(ws, server):
    go_on, seen = threading.Event(), []
    server.before_answer = lambda number: number == 2 and go_on.wait(120)
    panel = TaskPanel(ws)
    panel.live.observe(lambda change: seen.append(change["new"]), "value")
    panel.form.intent.value = "make add add"
    panel.form.try_button.click()
    until(lambda: "Attempt 2: asking the model" in panel.status.value and "FAILED" in panel.live.value)
    decision = panel.decision
    buttons = (
        panel.form.try_button,
        panel.show_button,
        decision.approve,
        decision.reject,
        decision.ship,
        decision.undo,
    )
    assert all(button.disabled for button in buttons)
    assert panel.diff.value == panel.state.value == ""
    assert panel.decision.open.layout.display == "none"
    go_on.set()
    until(lambda: not panel.busy)
    for said in ("attempt 1: asking the model", "copied 5 files", f"attempt 1: running {PYTEST}"):
        assert any(said in html for html in seen)
    assert len({html.partition("Trying for ")[2][:5] for html in seen}) > 3
    assert panel.live.value == ""


def test_enter_in_the_intent_field_tries_with_the_text_that_comes_after_it(ws, server, monkeypatch):
    monkeypatch.setattr(task_form, "ENTER_GRACE_S", 2.0)
    panel = TaskPanel(ws)
    panel.form.intent._handle_msg(
        {"content": {"data": {"method": "custom", "content": {"event": "submit"}}}, "buffers": []}
    )
    panel.form.intent.value = "make add add"
    until(lambda: ws.tasks.list() and not panel.busy)
    assert [task.intent for task in ws.tasks.list()] == ["make add add"]


def test_no_field_sends_its_text_key_by_key_where_a_click_could_overtake_it(ws):
    panel = TaskPanel(ws)
    fields = (panel.form.intent, panel.form.files, panel.form.checks, panel.decision.pattern, panel.decision.reason)
    assert [field.continuous_update for field in fields] == [False] * 5


def test_a_second_click_on_try_asks_nothing_twice(ws, server):
    panel = TaskPanel(ws)
    panel.form.intent.value = "make add add"
    threads = [threading.Thread(target=panel.form.try_button.click) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    until(lambda: not panel.busy)
    assert (len(ws.tasks.list()), len(server.asked)) == (1, 2)


def test_without_an_intent_nothing_is_asked(ws, server):
    panel = tried(TaskPanel(ws), intent="  ")
    assert "Write what to change into the field Intent" in panel.status.value
    assert (ws.tasks.list(), server.asked) == ([], [])


def test_a_task_that_never_passes_shows_no_diff_and_no_button(ws, server):
    server.answers = [WRONG]
    panel = tried(TaskPanel(ws))
    [task] = ws.tasks.list()
    assert (task.status, panel.diff.value, panel.decision.open.layout.display) == ("failed", "", "none")
    assert panel.decision.approve.disabled
    assert "only a verified change is shown" in panel.state.value
    assert "a * b" not in panel.state.value + panel._repr_mimebundle_()["text/html"]
    assert not panel.form.try_button.disabled


def test_an_engine_that_fails_is_one_line(ws, server):
    server.status = 500
    panel = tried(TaskPanel(ws))
    assert panel.status.value.endswith("answered 500: the context is full</p>")
    assert panel.status.value.count("<p") == 1
    assert not panel.form.try_button.disabled


def test_a_rejection_needs_a_reason(ws, verified):
    panel = TaskPanel(ws)
    panel.show_button.click()
    panel.decision.reject.click()
    assert "A rejection needs a reason" in panel.status.value
    assert ws.tasks.get(verified.id).status == "verified"
    panel.decision.reason.value, panel.decision.pattern.value = "too clever", "One-liners"
    panel.decision.reject.click()
    assert "is rejected; the files are as they were" in panel.status.value
    [event] = ws.bus.read_state(type="rejection")
    assert (event.fields["reason"], event.pattern, event.task) == ("too clever", "One-liners", verified.id)
    assert panel.waiting.options == (("no task waits for you", ""),)


def test_what_was_written_about_one_task_is_not_said_of_the_next(ws):
    first, second = (ws.tasks.verify(RIGHT, checks=["true"]) for _ in range(2))
    panel = TaskPanel(ws)
    panel.show(first.id)
    panel.decision.pattern.value, panel.decision.reason.value = "One-liners", "too clever"
    panel.decision.reject.click()
    panel.show(second.id)
    assert (panel.decision.pattern.value, panel.decision.reason.value) == ("", "")
    panel.decision.approve.click()
    assert [event.pattern for event in ws.bus.read_state(type="approval")] == [""]


def test_clicks_from_many_threads_decide_once(ws, verified):
    panel = TaskPanel(ws)
    panel.show(verified.id)
    for button in (panel.decision.approve, panel.decision.ship):
        threads = [threading.Thread(target=button.click) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        until(lambda: not panel.busy)
    assert events(ws, "approval", "ship") == [("approval", verified.id), ("ship", verified.id)]


def test_undo_takes_an_approval_back(ws, verified):
    panel = TaskPanel(ws)
    panel.show(verified.id)
    panel.decision.approve.click()
    assert (ws.paths.root / "calc.py").read_text() == FIXED
    panel.decision.undo.click()
    assert (ws.paths.root / "calc.py").read_text() == BROKEN
    assert ">undone</strong>" in panel.state.value
    assert panel.decision.ship.disabled
    assert panel.decision.undo.disabled


def test_two_panels_on_one_task_do_not_conflict(ws, verified):
    here, there = TaskPanel(ws), TaskPanel(Workspace.open(ws.paths.root))
    here.show(verified.id)
    there.show(verified.id)
    here.decision.approve.click()
    there.decision.approve.click()
    assert "is approved" in there.status.value
    there.decision.ship.click()
    here.decision.reason.value = "late"
    here.decision.reject.click()
    assert "is shipped and cannot be rejected" in here.status.value
    assert ">shipped</strong>" in here.state.value
    assert events(ws, "approval", "rejection", "ship") == [("approval", verified.id), ("ship", verified.id)]


def test_a_file_that_changed_meanwhile_is_one_line_and_leaves_the_task_open(ws, verified):
    panel = TaskPanel(ws)
    panel.show(verified.id)
    (ws.paths.root / "calc.py").write_text("# the operator was here\n")
    panel.decision.approve.click()
    assert "calc.py changed since the proposal was verified" in panel.status.value
    assert not panel.decision.approve.disabled
    assert (ws.paths.root / "calc.py").read_text() == "# the operator was here\n"


def test_the_tasks_that_wait_are_listed_newest_first_and_the_chosen_one_is_shown(ws):
    first = ws.tasks.verify(RIGHT, intent="first", checks=["true"])
    second = ws.tasks.verify(RIGHT, intent="second", checks=["true"])
    ws.tasks.verify(WRONG, intent="failed", checks=[PYTEST])
    panel = TaskPanel(ws)
    assert panel.waiting.options == (
        ("second (verified, not decided)", second.id),
        ("first (verified, not decided)", first.id),
    )
    panel.waiting.value = first.id
    panel.show_button.click()
    panel.decision.approve.click()
    assert ws.tasks.get(second.id).status == "verified"
    assert ("first (approved, not shipped)", first.id) in panel.waiting.options
    assert panel.waiting.value == first.id


def test_a_task_that_was_purged_is_one_line(ws, verified):
    panel = TaskPanel(ws)
    panel.show(verified.id)
    ws.purge(tasks=[verified.id])
    panel.decision.approve.click()
    assert f"there is no task &#x27;{verified.id}&#x27;" in panel.status.value
    assert (panel.diff.value, panel.decision.approve.disabled) == ("", True)


def test_where_buttons_are_dead_there_are_the_commands(ws, verified):
    panel = TaskPanel(ws)
    html = panel._repr_mimebundle_()["text/html"]
    assert "cipher-nb task &quot;what to change&quot; --file PATH --check COMMAND</code>" in html
    assert f"cipher-nb approve {verified.id} --pattern &quot;…&quot;</code>" in html
    panel.show(verified.id)
    html = panel._repr_mimebundle_()["text/html"]
    assert f"cipher-nb reject {verified.id} --reason &quot;…&quot; --pattern &quot;…&quot;</code>" in html
    assert "before</th>" in html
    assert "<button" not in html
    panel.decision.approve.click()
    assert f"cipher-nb ship {verified.id}</code>" in panel._repr_mimebundle_()["text/html"]


def test_what_a_notebook_gives_is_in_the_fields_and_nothing_is_asked(ws, server):
    panel = TaskPanel(ws, intent="make add add", files=["calc.py", "notes.txt"], checks=["true"])
    assert (panel.form.intent.value, panel.form.files.value, panel.form.checks.value) == (
        "make add add",
        "calc.py\nnotes.txt",
        "true",
    )
    assert server.asked == []


def test_hostile_text_stays_text(ws):
    hostile = "<script>alert(1)</script>\u202e"
    edit = {"op": "write", "path": f"{hostile[:8]}.txt", "text": hostile}
    task = ws.tasks.verify(json.dumps({"intent": hostile, "edits": [edit]}), checks=["true"])
    assert task.status == "verified"
    panel = TaskPanel(ws)
    panel.show(task.id)
    html = "".join([panel.state.value, panel.diff.value, panel._repr_mimebundle_()["text/html"]])
    assert "<script>" not in html
    assert "\u202e" not in html + panel.waiting.options[0][0]
    assert "&lt;script&gt;alert(1)&lt;/script&gt;\\u202e" in panel.diff.value
