"""PURGE in the cockpit: it says what would go, asks for a second click, and names what is left."""

import pytest

from cipher_nb.cockpit import Cockpit
from cipher_nb.testing import sample_workspace


@pytest.fixture
def ws(tmp_path):
    ws = sample_workspace(tmp_path)
    for _ in range(3):
        ws.bus.append("approval", tool="edit", pattern="Speaks <plainly>", summary="x", task="t9")
    return ws


def test_the_first_click_says_what_would_go_and_the_second_does_it(ws):
    panel = Cockpit(ws).purge
    panel.task.value = " t9 "
    panel.button.click()
    assert "3 events and 0 turns of task t9" in panel.status.value
    assert len(ws.bus.read_state(task="t9")) == 3
    panel.button.click()
    assert "removed 3 events, 0 turns, 0 pairs, 0 task records" in panel.status.value
    assert "no longer told to the model: Speaks &lt;plainly&gt;" in panel.status.value
    assert ws.bus.read_state(task="t9") == []


def test_another_task_is_asked_about_anew(ws):
    panel = Cockpit(ws).purge
    panel.task.value = "t9"
    panel.button.click()
    panel.task.value = "t8"
    panel.button.click()
    assert "0 events and 0 turns of task t8" in panel.status.value
    assert len(ws.bus.read_state(task="t9")) == 3


def test_without_a_task_it_says_where_to_find_one(ws):
    panel = Cockpit(ws).purge
    panel.button.click()
    assert "cipher-nb state shows the ids" in panel.status.value
    assert len(ws.bus.read_state()) == 13
