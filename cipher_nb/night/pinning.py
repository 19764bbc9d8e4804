"""Pin approved work: the task's question and its verified answer become a must-pass sample."""

from __future__ import annotations

from typing import Any

from cipher_nb.battery import pins
from cipher_nb.battery.samples import Scorer
from cipher_nb.errors import ConfigError, NotFoundError
from cipher_nb.masking import Masker
from cipher_nb.night.parts import Parts
from cipher_nb.training.data.pairs import Pair, collect


def pin_task(parts: Parts, task: str, *, scorer: Scorer | None = None, target: str | None = None) -> dict[str, Any]:
    """Make `task` a must-pass sample, or change the one it is, and return its row; see `battery.pins.pin_row`.

    Secrets in the question are masked. Raises NotFoundError when there is no such task that was approved or shipped,
    passed a gate and has a transcript, and ConfigError when a secret is part of the target.
    """
    masker = Masker(parts.config.bus.secrets)
    pair = _pair(parts, task)
    messages = [{"role": each["role"], "content": masker.text(each["content"])} for each in pair.messages]
    row = pins.pin_row(task, messages=messages, answer=pair.response, scorer=scorer, target=target)
    row["metadata"]["event_ids"] = list(pair.event_ids)  # a purge of these takes the sample along
    secrets = masker.kinds(row["target"])
    if secrets:
        raise ConfigError(f"task {task} is answered with a secret ({', '.join(secrets)}); give a --target without it")
    pins.pin(parts.paths.battery, row)
    return row


def unpin_task(parts: Parts, task: str) -> bool:
    """Take the task's must-pass sample away and tell whether there was one."""
    return pins.unpin(parts.paths.battery, task)


def _pair(parts: Parts, task: str) -> Pair:
    collected = collect(parts.bus.read_state(), parts.transcripts.read(task=task), since=None)
    found = next((pair for pair in collected.pairs if pair.task == task), None)
    if found is not None:
        return found
    reason = dict(collected.dropped).get(task, f"it was not approved; approve it with: cipher-nb approve {task}")
    raise NotFoundError(f"task {task} cannot be pinned: {reason}")
