"""How far a model's words moved away from another's."""

import math
from collections.abc import Mapping, Sequence

import pytest

from cipher_nb.battery.drift import TEXT, drift, surprisals


class Certain:
    """A model of characters that gives the right next one the probability `sure`, where it knows it at all."""

    def __init__(self, text: str, *, sure: float, blind: str = "") -> None:
        self.text, self.sure, self.blind = text, sure, blind

    def tokenize(self, text: str) -> list[int]:
        return [ord(letter) for letter in text]

    def token_logprobs(self, prompt: Sequence[int], *, top: int) -> Mapping[int, float]:
        following = self.text[len(prompt)]
        likely = {ord("#"): math.log(0.001)}
        return likely if following in self.blind else {ord(following): math.log(self.sure), **likely}


def test_every_third_token_is_weighed():
    assert len(surprisals(Certain("abcdefghij", sure=0.5), "abcdefghij")) == 3


def test_a_model_that_is_half_as_sure_drifted_by_the_log_of_two():
    before, after = (surprisals(Certain(TEXT, sure=sure)) for sure in (0.8, 0.4))
    assert drift(before, after) == pytest.approx(math.log(2))
    assert drift(before, before) == 0.0


def test_a_token_that_is_not_among_the_likeliest_counts_as_the_last_of_them():
    assert surprisals(Certain("aaab", sure=0.9, blind="b"), "aaab") == [pytest.approx(-math.log(0.001))]


@pytest.mark.slow
@pytest.mark.model
def test_the_embedded_model_reads_our_text_with_some_ease(embedded_client):
    found = surprisals(embedded_client)
    assert len(found) > 80
    assert 1.0 < sum(found) / len(found) < 5.0
