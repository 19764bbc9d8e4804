"""Several processes that train one adapter together: each takes a part of every step, and the gradients are summed."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class Processes:
    """This process among those that train. `gpu` is the number of its GPU on its machine."""

    rank: int = 0
    count: int = 1
    gpu: int = 0

    @property
    def leads(self) -> bool:
        """Whether this is the one process that writes and speaks."""
        return self.rank == 0

    def total(self, values: Sequence[float]) -> list[float]:
        """Return the sums over all processes."""
        if self.count == 1:
            return list(values)
        import torch
        from torch import distributed

        device = f"cuda:{self.gpu}" if torch.cuda.is_available() else "cpu"
        summed = torch.tensor(list(values), dtype=torch.float64, device=device)
        distributed.all_reduce(summed)
        return [float(value) for value in summed.tolist()]

    def least(self, value: int) -> int:
        """Return the smallest of all processes' values."""
        if self.count == 1:
            return value
        values = [0.0] * self.count
        values[self.rank] = float(value)
        return int(min(self.total(values)))

    def sum_gradients(self, weights: Iterable[torch.Tensor], *, share: float) -> None:
        """Make every weight's gradient the sum over all processes, of each process's own times its `share`."""
        if self.count == 1:
            return
        import torch
        from torch import distributed

        weights = list(weights)
        for weight in weights:  # a process that had nothing to do in this step has none
            weight.grad = torch.zeros_like(weight) if weight.grad is None else weight.grad.mul_(share)
        flat = torch.cat([weight.grad.flatten() for weight in weights if weight.grad is not None])
        distributed.all_reduce(flat)
        pieces = flat.split([weight.numel() for weight in weights])
        for weight, piece in zip(weights, pieces, strict=True):
            weight.grad = piece.view_as(weight)


@contextmanager
def joined() -> Iterator[Processes]:
    """Join the processes that a launcher (accelerate, torchrun) started together; without one, be alone.

    Over NCCL where there are GPUs, else over Gloo.
    """
    count = int(os.environ.get("WORLD_SIZE", "1"))
    if count == 1:
        yield Processes()
        return
    import torch
    from torch import distributed

    distributed.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
    try:
        gpu = int(os.environ.get("LOCAL_RANK", "0"))
        if torch.cuda.is_available():
            torch.cuda.set_device(gpu)
        yield Processes(distributed.get_rank(), count, gpu)
    finally:
        distributed.destroy_process_group()
