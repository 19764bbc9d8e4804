"""The training loop: a step is a batch, its gradients, the clip and the optimizer; between steps the run is kept."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cipher_nb.config import TrainingSettings
from cipher_nb.errors import TrainingError
from cipher_nb.training.gradients.accumulate import Stopped
from cipher_nb.training.gradients.batches import Sample, micro_batches
from cipher_nb.training.qlora.processes import Processes
from cipher_nb.training.qlora.schedule import batches, learning_rate, steps_of
from cipher_nb.training.qlora.state import State, capture, load_state, random_state, restore, save_state

if TYPE_CHECKING:
    import torch

Gradients = Callable[[Sequence[Sample]], float]
"""Adds the gradients of the mean loss over some samples and returns it; raises Stopped when told to stop in between."""


@dataclass(frozen=True)
class Step:
    """One optimizer step. `loss` is the mean over its response tokens; `tokens` counts whole samples, prompts too.

    Speed and the time left are told from the steps since this run began or was taken up.
    """

    number: int
    total: int
    loss: float
    tokens: int
    tokens_per_s: float
    seconds_left: float


@dataclass(frozen=True)
class Keep:
    """Where a run is kept: every `every_s` and when it is stopped. It goes on only where `made_of` is the same."""

    folder: Path
    made_of: Mapping[str, str]
    every_s: float


@dataclass(frozen=True)
class Ran:
    """How far a run has come, after which step it was taken up, and why not where an older state was of no use."""

    state: State
    resumed_at: int
    unused: str
    stopped: bool


def run_steps(
    model: Any,
    samples: Sequence[Sample],
    settings: TrainingSettings,
    *,
    gradients: Gradients,
    micro_batch_tokens: int,
    processes: Processes,
    keep: Keep | None = None,
    on_step: Callable[[Step], None] | None = None,
) -> Ran:
    """Train `model` in place with AdamW, from where `keep` has it, and return how far that came.

    Raises TrainingError when the loss is not a number, or the run cannot be kept.
    """
    import torch

    weights = {name: weight for name, weight in model.named_parameters() if weight.requires_grad}
    optimizer = torch.optim.AdamW(weights.values(), lr=settings.lr, weight_decay=0.0)
    begun, unused = _take_up(keep, weights, optimizer, processes)
    done, first, total = begun, len(begun.losses), steps_of(samples, settings)
    started = kept = time.monotonic()
    model.train()
    for number, batch in enumerate(batches(samples, settings), 1):
        if number <= first:
            continue
        before = random_state()
        loss = _loss(gradients, batch, list(weights.values()), micro_batch_tokens, processes)
        if loss is None:
            _keep_state(keep, done, before, weights, optimizer, processes)
            return Ran(done, first, unused, stopped=True)
        if not math.isfinite(loss):
            raise TrainingError(f"the loss is {loss} at step {number} of {total}; lower [training] lr = {settings.lr}")
        _update(optimizer, list(weights.values()), learning_rate(number, total, settings), settings)
        now, tokens = time.monotonic(), sum(len(sample.tokens) for sample in batch)
        done = State((*done.losses, loss), done.tokens + tokens, begun.seconds + now - started)
        if on_step:
            speed, a_step = (done.tokens - begun.tokens) / (now - started), (now - started) / (number - first)
            on_step(Step(number, total, loss, tokens, speed, a_step * (total - number)))
        if keep and now - kept >= keep.every_s:
            _keep_state(keep, done, random_state(), weights, optimizer, processes)
            kept = time.monotonic()
    return Ran(done, first, unused, stopped=False)


def _loss(
    gradients: Gradients,
    batch: Sequence[Sample],
    weights: Sequence[torch.Tensor],
    micro_batch_tokens: int,
    processes: Processes,
) -> float | None:
    """Leave the batch's gradients in `weights` and return its loss, the same in every process; None when stopped."""
    mine = _part(batch, micro_batch_tokens, processes)
    share = _response_tokens(mine) / _response_tokens(batch)
    try:
        loss, stopped = (gradients(mine) if mine else 0.0), 0.0
    except Stopped:
        loss, stopped = 0.0, 1.0
    loss, stopped = processes.total([loss * share, stopped])
    if stopped:
        return None
    processes.sum_gradients(weights, share=share)
    return loss


def _part(batch: Sequence[Sample], micro_batch_tokens: int, processes: Processes) -> Sequence[Sample]:
    """Return the samples that are this process's: whole micro-batches, as many as the others have."""
    if processes.count == 1:
        return batch
    groups = list(micro_batches(batch, max_tokens=micro_batch_tokens))
    while len(groups) < min(processes.count, len(batch)):
        micro_batch_tokens //= 2
        groups = list(micro_batches(batch, max_tokens=micro_batch_tokens))
    return [sample for group in groups[processes.rank :: processes.count] for sample in group]


def _response_tokens(samples: Sequence[Sample]) -> int:
    return sum(sample.response_tokens for sample in samples)


def _update(
    optimizer: torch.optim.Optimizer, weights: Sequence[torch.Tensor], lr: float, settings: TrainingSettings
) -> None:
    import torch

    for group in optimizer.param_groups:
        group["lr"] = lr
    torch.nn.utils.clip_grad_norm_(weights, settings.max_grad_norm)
    optimizer.step()
    optimizer.zero_grad()


def _take_up(
    keep: Keep | None, weights: Mapping[str, torch.Tensor], optimizer: torch.optim.Optimizer, processes: Processes
) -> tuple[State, str]:
    """Bring weights, optimizer and random numbers to where the run was kept, and return that; else why not."""
    found = load_state(keep.folder, keep.made_of) if keep else ""
    state, unused = (State(), found) if isinstance(found, str) else (found, "")
    if processes.total([len(state.losses)]) != [processes.count * len(state.losses)]:
        raise TrainingError("the processes see different states of this run; give them one folder that all can read")
    if state.tensors:
        restore(state.tensors, weights, optimizer)
    return replace(state, tensors={}), unused


def _keep_state(
    keep: Keep | None,
    done: State,
    random: Mapping[str, torch.Tensor],
    weights: Mapping[str, torch.Tensor],
    optimizer: torch.optim.Optimizer,
    processes: Processes,
) -> None:
    if keep and processes.leads and done.losses:
        save_state(keep.folder, replace(done, tensors={**random, **capture(weights, optimizer)}), keep.made_of)
