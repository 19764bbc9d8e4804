"""A running training as one line: bar, loss, speed and the time left."""

from cipher_nb.report.step_line import step_text
from cipher_nb.training.qlora.loop import Step


def test_a_step_is_told_with_bar_loss_speed_and_time_left():
    assert step_text(Step(5, 10, 1.2344, 900, 1234.5, 80.2)) == (
        "████████████░░░░░░░░░░░░ 5 of 10 steps · loss 1.234 · 1,234 tokens/s · 1 min 20 s left"
    )
    assert step_text(Step(1, 480, 2.0, 900, 56.0, 7300.0)).endswith(
        " 1 of 480 steps · loss 2.000 · 56 tokens/s · 2 h 1 min left"
    )


def test_the_last_step_leaves_no_time():
    assert step_text(Step(10, 10, 0.5, 900, 99.6, 0.0)).endswith("█ 10 of 10 steps · loss 0.500 · 100 tokens/s")
