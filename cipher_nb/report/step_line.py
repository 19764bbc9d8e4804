"""A training that runs, as one line of a notebook."""

from __future__ import annotations

from cipher_nb.report.live import LiveLine
from cipher_nb.report.plain import duration
from cipher_nb.training.qlora.loop import Step

BAR_CELLS = 24


class StepLine:
    """Shows bar, loss, speed and the time left of the newest step it was called with."""

    def __init__(self) -> None:
        self._line = LiveLine()

    def __call__(self, step: Step) -> None:
        if step.number == step.total:
            self._line.end(step_text(step))
        else:
            self._line(step_text(step))


def step_text(step: Step) -> str:
    """Return the step as a line: `████░░░░ 5 of 9 steps · loss 1.234 · 567 tokens/s · 1 min 20 s left`."""
    cells = BAR_CELLS * step.number // step.total
    bar = "█" * cells + "░" * (BAR_CELLS - cells)
    speed = f"loss {step.loss:.3f} · {step.tokens_per_s:,.0f} tokens/s"
    left = f" · {duration(step.seconds_left)} left" if step.number < step.total else ""
    return f"{bar} {step.number} of {step.total} steps · {speed}{left}"
