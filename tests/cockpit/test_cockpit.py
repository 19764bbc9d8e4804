"""The cockpit: three buttons on the one decision function, safe to click twice, from any thread, on any state."""

import threading
from datetime import UTC, datetime, timedelta

import pytest

from cipher_nb.adapters.changelog import Changelog, latest, publish
from cipher_nb.adapters.state import Mark
from cipher_nb.cockpit import Cockpit
from cipher_nb.files import write_atomic
from cipher_nb.jsonl import read_lines
from cipher_nb.records import format_ts
from cipher_nb.testing import MovableClock
from cipher_nb.workspace import Workspace

MORNING = datetime(2026, 11, 30, 8, tzinfo=UTC)
NIGHT = "2026-11-30-0200"


@pytest.fixture
def clock():
    return MovableClock(MORNING)


@pytest.fixture
def ws(tmp_path, clock):
    """A workspace whose engine is a server that does not answer."""
    workspace = Workspace.init(tmp_path, clock=clock)
    write_atomic(workspace.paths.config, '[engine]\nurl = "http://127.0.0.1:9"\n')
    return Workspace.open(tmp_path, clock=clock)


def stage(ws, *, verdict="PROVEN", adapter="q8-aaaa", night=NIGHT):
    """Stage an adapter and publish its changelog, as a night does."""
    gguf = ws.paths.root / f"{adapter}.gguf"
    gguf.write_bytes(b"GGUF")
    ws.registry.add(adapter, gguf, manifest={})
    ws.registry.stage(adapter)
    changelog = Changelog(
        night, format_ts(MORNING - timedelta(hours=6)), adapter, verdict, ("uses pathlib",), 12, 0.12, -0.02
    )
    publish(ws.paths.changelog, changelog)
    return changelog


def test_a_marked_production_is_shown_with_the_way_back_in_the_view_and_its_twin(ws):
    stage(ws)
    ws.registry.promote("q8-aaaa")
    assert "marked" not in Cockpit(ws).state.value
    ws.registry.mark({"q8-aaaa": Mark("2026-11-30T07:00:00.000Z", 3)})
    words = "trained on 3 pairs purged at 2026-11-30T07:00:00.000Z; serve the one before with: cipher-nb rollback"
    cockpit = Cockpit(ws)
    assert f">marked</strong> {words}" in cockpit.state.value
    assert words in cockpit._repr_mimebundle_()["text/html"]


def decisions(ws):
    return [(row["action"], row["status"], row["by"]) for row in read_lines(ws.paths.audit)]


def test_it_shows_what_is_served_what_waits_and_the_changelog(ws):
    changelog = stage(ws)
    cockpit = Cockpit(ws)
    assert "base" in cockpit.state.value
    assert "q8-aaaa" in cockpit.state.value
    assert changelog.ref in cockpit.state.value
    assert "- Battery delta: +0.12 composite, all categories &gt;= -0.02" in cockpit.state.value
    assert "[APPLY]  [REVIEW]  [SKIP]" in cockpit.state.value
    assert "stale" not in cockpit.state.value


def test_a_changelog_left_for_a_day_is_marked_stale(ws, clock):
    stage(ws)
    clock.set(MORNING + timedelta(hours=18, seconds=1))
    assert ">stale</strong>" in Cockpit(ws).state.value


def test_with_nothing_pending_there_is_nothing_to_press(ws):
    cockpit = Cockpit(ws)
    assert "Nothing waits for a decision" in cockpit.state.value
    buttons = (cockpit.apply_button, cockpit.review_button, cockpit.skip_button)
    assert [button.disabled for button in buttons] == [True, True, True]


def test_skip_archives_once_however_often_it_is_clicked(ws):
    stage(ws)
    cockpit = Cockpit(ws)
    cockpit.skip_button.click()
    cockpit.skip_button.click()
    assert decisions(ws) == [("skip", "done", "cockpit")]
    assert ws.registry.state().archived == {"q8-aaaa": "skipped by the operator"}
    assert "nothing changed" in cockpit.status.value
    assert cockpit.skip_button.disabled


def test_clicks_from_many_threads_decide_once(ws):
    stage(ws)
    cockpit = Cockpit(ws)
    threads = [threading.Thread(target=cockpit.skip_button.click) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert decisions(ws) == [("skip", "done", "cockpit")]


def test_an_unproven_adapter_is_applied_only_at_a_second_thought(ws, clock):
    stage(ws, verdict="INCONCLUSIVE")
    cockpit = Cockpit(ws)
    cockpit.apply_button.click()
    assert cockpit.apply_button.description == "APPLY ANYWAY (unproven)"
    assert "apply it anyway?" in cockpit.status.value
    cockpit.apply_button.click()
    assert decisions(ws) == []
    clock.set(clock() + timedelta(seconds=2))
    cockpit.apply_button.click()
    assert decisions(ws) == [("apply", "asked", "cockpit"), ("apply", "failed", "cockpit")]  # no model to serve
    assert read_lines(ws.paths.audit)[0]["confirmed_twice"] is True


def test_an_engine_that_cannot_be_asked_is_a_sentence(ws):
    stage(ws)
    cockpit = Cockpit(ws)
    cockpit.apply_button.click()
    assert "127.0.0.1:9" in cockpit.status.value
    assert not cockpit.apply_button.disabled
    assert ws.registry.state().production == "base"


def test_an_adapter_applied_elsewhere_is_not_applied_again(ws):
    stage(ws)
    cockpit = Cockpit(ws)
    ws.registry.promote("q8-aaaa")
    cockpit.apply_button.click()
    assert "was applied before; nothing changed" in cockpit.status.value
    assert latest(ws.paths.changelog).status == "applied"


def test_a_click_never_decides_a_changelog_that_was_not_on_display(ws):
    stage(ws)
    cockpit = Cockpit(ws)
    newer = stage(ws, adapter="q8-bbbb", night="2026-12-01-0200")
    cockpit.skip_button.click()
    assert decisions(ws) == []
    assert "is not the one on record" in cockpit.status.value
    assert newer.ref in cockpit.state.value


def test_a_question_asked_about_one_changelog_does_not_confirm_the_next(ws, clock):
    stage(ws, verdict="INCONCLUSIVE")
    cockpit = Cockpit(ws)
    cockpit.apply_button.click()
    stage(ws, verdict="INCONCLUSIVE", adapter="q8-bbbb", night="2026-12-01-0200")
    cockpit.refresh()
    clock.set(clock() + timedelta(seconds=2))
    assert cockpit.apply_button.description == "APPLY"
    cockpit.apply_button.click()
    assert decisions(ws) == []
    assert cockpit.apply_button.description == "APPLY ANYWAY (unproven)"


def test_review_shows_the_page_in_a_frame_where_nothing_runs_and_hides_it_again(ws):
    stage(ws)
    write_atomic(ws.paths.nights / NIGHT / "report.html", '<h1>"A night"</h1><script>alert(1)</script>')
    cockpit = Cockpit(ws)
    cockpit.review_button.click()
    assert '<iframe sandbox="" title="Report of night 2026-11-30-0200"' in cockpit.review.value
    assert 'srcdoc="&lt;h1&gt;&quot;A night&quot;&lt;/h1&gt;' in cockpit.review.value
    cockpit.review_button.click()
    assert cockpit.review.value == ""


@pytest.mark.parametrize("night", [NIGHT, "../../../outside"])
def test_a_review_without_a_page_says_how_to_make_it(ws, night):
    (ws.paths.root.parent / "outside").mkdir(exist_ok=True)
    stage(ws, night=night)
    cockpit = Cockpit(ws)
    cockpit.review_button.click()
    assert f"<code>cipher-nb report {night}</code>" in cockpit.review.value


def test_a_broken_registry_is_a_sentence(ws):
    write_atomic(ws.paths.adapters / "registry.json", "{")
    cockpit = Cockpit(ws)
    assert "registry.json is not valid JSON" in cockpit.status.value
    assert "registry.json is not valid JSON" in cockpit._repr_mimebundle_()["text/html"]


def test_one_bundle_holds_the_live_view_and_the_commands_for_where_it_is_dead(ws):
    changelog = stage(ws)
    bundle = Cockpit(ws)._repr_mimebundle_()
    assert set(bundle) == {"application/vnd.jupyter.widget-view+json", "text/html", "text/plain"}
    for command in (f"cipher-nb apply {changelog.ref}", f"cipher-nb review {NIGHT}", f"cipher-nb skip {changelog.ref}"):
        assert f"{command}</code>" in bundle["text/html"]
    assert "<button" not in bundle["text/html"]


def test_hostile_names_are_escaped(ws):
    stage(ws, night="<script>alert(1)</script>")
    cockpit = Cockpit(ws)
    html = cockpit.state.value + cockpit._repr_mimebundle_()["text/html"]
    assert "<script>" not in html
    assert "&lt;script&gt;" in html
