import threading

import pytest

from cipher_nb.errors import EngineError
from cipher_nb.model import Reply
from cipher_nb.training.data.replay import GENERAL_PROMPTS, general_prompts, replay_pairs


class Echo:
    """A model that says the question again; it counts, and fails after `breaks_after` answers."""

    def __init__(self, breaks_after=10_000, finish_reason="stop"):
        self.asked = []
        self.breaks_after = breaks_after
        self.finish_reason = finish_reason
        self.lock = threading.Lock()

    def chat(self, messages, *, max_tokens=256, temperature=0.0, seed=0, schema=None):
        with self.lock:
            if len(self.asked) >= self.breaks_after:
                raise EngineError("the server is gone")
            self.asked.append(messages[-1]["content"])
        return Reply(f"You said: {messages[-1]['content']}", finish_reason=self.finish_reason)

    def next_token_logprobs(self, messages, *, top=64):
        raise EngineError("not asked here")


def test_the_base_answers_as_many_prompts_as_wanted_and_the_seed_chooses_them(tmp_path):
    pairs = replay_pairs(Echo(), general_prompts(10, seed=1), path=tmp_path / "replay.jsonl")
    assert len({pair.user_text for pair in pairs}) == 10
    assert {pair.source for pair in pairs} == {"replay"}
    assert pairs[0].response == f"You said: {pairs[0].user_text}"
    other = replay_pairs(Echo(), general_prompts(10, seed=2), path=tmp_path / "other.jsonl")
    assert [pair.user_text for pair in other] != [pair.user_text for pair in pairs]


def test_a_night_that_wants_more_asks_only_for_more():
    assert general_prompts(40, seed=3)[:10] == general_prompts(10, seed=3)


def test_what_was_answered_is_not_asked_again(tmp_path):
    path, progress = tmp_path / "replay.jsonl", []
    with pytest.raises(EngineError):
        replay_pairs(Echo(breaks_after=6), general_prompts(10, seed=1), path=path)
    model = Echo()
    pairs = replay_pairs(model, general_prompts(10, seed=1), path=path, on_progress=lambda *step: progress.append(step))
    assert len(model.asked) == 4
    assert len(pairs) == 10
    assert progress == [(7, 10), (8, 10), (9, 10), (10, 10)]
    again = Echo()
    assert replay_pairs(again, general_prompts(10, seed=1), path=path) == pairs
    assert again.asked == []


def test_an_answer_that_was_cut_off_is_marked_as_unfinished(tmp_path):
    (pair,) = replay_pairs(Echo(finish_reason="length"), general_prompts(1, seed=1), path=tmp_path / "replay.jsonl")
    assert pair.finished is False


def test_more_than_there_are_prompts_gives_them_all(tmp_path):
    assert len(replay_pairs(Echo(), general_prompts(500, seed=1), path=tmp_path / "r.jsonl")) == len(
        set(GENERAL_PROMPTS)
    )


def test_the_same_question_under_another_system_text_is_another_prompt(tmp_path):
    path = tmp_path / "replay.jsonl"
    question = {"role": "user", "content": "Which file?"}
    replay_pairs(Echo(), [(question,)], path=path)
    model = Echo()
    replay_pairs(model, [({"role": "system", "content": "Be brief."}, question), (question,)], path=path)
    assert model.asked == ["Which file?"]
