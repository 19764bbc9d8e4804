from __future__ import annotations

import json

import pytest

from cipher_nb.config import SandboxSettings
from cipher_nb.sandbox.loop import verify
from tests.bench.small_tasks import CHECK, TASKS, SmallTask

NOTHING = json.dumps({"edits": [{"op": "write", "path": "notes.txt", "text": "nothing\n"}]})


def test_there_are_enough_small_tasks_and_each_has_its_own_name():
    assert len({small.name for small in TASKS}) == len(TASKS) >= 20


@pytest.mark.slow
@pytest.mark.parametrize("small", TASKS, ids=lambda small: small.name)
def test_a_small_task_fails_as_it_is_and_passes_with_its_reference(tmp_path, small: SmallTask):
    root = tmp_path / "project"
    root.mkdir()
    small.write(root)
    replies = iter([NOTHING, small.reference()])
    outcome = verify(
        lambda feedback: next(replies),
        root=root,
        sandbox=root / ".aide/sandboxes/t1",
        checks=[CHECK],
        settings=SandboxSettings(attempts=2),
    )
    assert [attempt.passed for attempt in outcome.attempts] == [False, True]
