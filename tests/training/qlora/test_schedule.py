from dataclasses import replace
from itertools import chain

import pytest

from cipher_nb.config import TrainingSettings
from cipher_nb.training.gradients.batches import Sample
from cipher_nb.training.qlora.schedule import batches, learning_rate, steps_of

SETTINGS = TrainingSettings(lr=1.0, warmup_share=0.2)
SAMPLES = [Sample((number, 1), 1) for number in range(5)]


@pytest.mark.parametrize(
    ("schedule", "rates"),
    [
        ("linear", [0.5, 1.0, 0.889, 0.778, 0.667, 0.556, 0.444, 0.333, 0.222, 0.111]),
        ("cosine", [0.5, 1.0, 0.97, 0.883, 0.75, 0.587, 0.413, 0.25, 0.117, 0.03]),
        ("constant", [0.5, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]),
    ],
)
def test_the_rate_rises_over_the_warm_up_and_then_follows_the_schedule(schedule, rates):
    settings = replace(SETTINGS, schedule=schedule)
    assert [round(learning_rate(number, 10, settings), 3) for number in range(1, 11)] == rates


def test_without_a_warm_up_the_first_step_has_the_whole_rate_and_with_nothing_else_the_last():
    assert learning_rate(1, 1, replace(SETTINGS, warmup_share=0.0)) == 1.0
    assert [learning_rate(number, 4, replace(SETTINGS, warmup_share=1.0)) for number in (1, 2, 3, 4)] == [
        0.25, 0.5, 0.75, 1.0,
    ]  # fmt: skip


def test_every_epoch_has_all_samples_once_in_an_order_of_its_own():
    settings = replace(SETTINGS, epochs=2, batch_size=2)
    made = list(batches(SAMPLES, settings))
    assert [len(batch) for batch in made] == [2, 2, 1, 2, 2, 1]
    assert steps_of(SAMPLES, settings) == 6
    first, second = list(chain(*made[:3])), list(chain(*made[3:]))
    assert sorted(first) == sorted(second) == SAMPLES
    assert first != second
    assert list(batches(SAMPLES, replace(settings, seed=1))) != made
