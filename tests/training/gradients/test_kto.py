import random

import numpy as np
import pytest

from cipher_nb.config import TrainingSettings
from cipher_nb.training.gradients.accumulate import Stopped, accumulate_gradients
from cipher_nb.training.gradients.batches import Sample
from cipher_nb.training.gradients.kto import Word, answer_logprobs, balanced, judge, kto_gradients, kto_loss

WANTED, REPLAY, REJECTED = slice(0, 4), slice(4, 6), slice(6, 9)


@pytest.fixture(scope="module")
def samples():
    """Nine samples on one prefix: four that are wanted, two that nobody judged, three that were rejected."""
    rng = random.Random(5)
    prefix = tuple(rng.randrange(3, 259) for _ in range(20))
    return [Sample(prefix + tuple(rng.randrange(3, 259) for _ in range(5 + 2 * n)), 22) for n in range(9)]


@pytest.fixture(scope="module")
def judgements(samples):
    found = judge(samples[:6], wanted=samples[WANTED], rejected=samples[REJECTED])
    assert found is not None
    return found


@pytest.fixture
def base(tiny_checkpoint):
    from cipher_nb.training.qlora.load import load_base

    return load_base(tiny_checkpoint, quantised=False)


@pytest.fixture
def fresh(tiny_checkpoint):
    """A model with an adapter that says nothing yet."""
    import torch

    from cipher_nb.training.qlora.load import load_base, with_adapter

    torch.manual_seed(0)
    return with_adapter(load_base(tiny_checkpoint, quantised=False), TrainingSettings())


@pytest.fixture
def model(fresh):
    """A model whose adapter has moved every answer by a nat or so."""
    import torch

    for name, weight in fresh.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(weight, std=0.5)
    return fresh


def plain_logprob(model, sample):
    """The textbook computation, in numpy: one sample at a time, over the whole vocabulary."""
    import torch

    with torch.no_grad():
        logits = model(input_ids=torch.tensor([sample.tokens])).logits[0].double().numpy()
    probs = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    places = range(sample.prompt_tokens, len(sample.tokens))
    return sum(np.log(probs[place - 1, sample.tokens[place]]) for place in places)


def take_gradients(model):
    import torch

    flat = torch.cat([weight.grad.flatten() for weight in model.parameters() if weight.grad is not None])
    model.zero_grad()
    return flat


def test_the_loss_is_the_papers_with_its_reference_point_at_zero():
    import torch

    wanted = kto_loss(torch.tensor(-10.0), -12.0, Word(wanted=True, weight=1.0))
    rejected = kto_loss(torch.tensor(-30.0), -25.0, Word(wanted=False, weight=0.5))
    assert float(wanted) == pytest.approx(0.450166, abs=1e-6)  # r = 2: 1 - sigmoid(0.2)
    assert float(rejected) == pytest.approx(0.188770, abs=1e-6)  # r = -5: half of 1 - sigmoid(0.5)


@pytest.mark.parametrize(
    ("wanted", "rejected", "weights"),
    [(10, 10, (1, 1)), (40, 30, (1, 1)), (10, 20, (1, 0.5)), (80, 30, (0.5, 1)), (400, 3, (0.01, 1))],
)
def test_all_wanted_answers_weigh_between_once_and_four_thirds_of_the_rejected(wanted, rejected, weights):
    assert balanced(wanted, rejected) == pytest.approx(weights)


def test_the_rejected_are_spread_over_the_learned_and_each_is_there_once(samples, judgements):
    assert judgements.beside == {samples[0]: [samples[6]], samples[2]: [samples[7]], samples[4]: [samples[8]]}
    assert judgements.words[samples[1]] == Word(wanted=True, weight=1.0)
    assert judgements.words[samples[6]] == Word(wanted=False, weight=1.0)
    assert not judgements.words.keys() & set(samples[REPLAY])


def test_more_rejected_than_learned_are_spread_as_well(samples):
    found = judge(samples[:2], wanted=samples[:1], rejected=samples[2:])
    assert found.beside == {samples[0]: samples[2:6], samples[1]: samples[6:]}


def test_what_is_learned_is_not_rejected_as_well(samples):
    found = judge(samples[:3], wanted=samples[:2], rejected=[samples[2], samples[3], samples[3]])
    assert found.beside == {samples[0]: [samples[3]]}
    assert judge(samples[:3], wanted=samples[:2], rejected=samples[:3]) is None


def test_there_is_nothing_to_judge_without_both_kinds(samples):
    assert judge(samples[:3], wanted=[], rejected=samples[6:]) is None
    assert judge(samples[:3], wanted=samples[:3], rejected=[]) is None


@pytest.mark.parametrize("max_tokens", [10_000, 50])
def test_log_probabilities_are_those_of_one_sample_at_a_time(model, samples, max_tokens):
    found = answer_logprobs(model.get_base_model(), samples[::-1], max_tokens=max_tokens)
    expected = {sample: plain_logprob(model, sample) for sample in samples}
    assert found == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("max_tokens", [10_000, 50])
def test_gradients_are_those_of_the_formula_on_one_sample_at_a_time(model, base, samples, judgements, max_tokens):
    import torch

    batch = [samples[0], samples[4], samples[3]]  # with what is rejected beside the first two
    plain, judged = 0.0, 0.0
    for sample in [*batch, samples[6], samples[8]]:
        ids = torch.tensor([sample.tokens])
        each = model(input_ids=ids).logits[0, :-1].log_softmax(-1).gather(1, ids[0, 1:, None])[:, 0]
        logprob = each[sample.prompt_tokens - 1 :].sum()
        r = logprob - plain_logprob(base, sample)
        if sample in samples[:6]:
            plain = plain - logprob
        if sample in samples[WANTED]:
            judged = judged + 1 - torch.sigmoid(0.1 * r)
        if sample in samples[REJECTED]:
            judged = judged + 1 - torch.sigmoid(-0.1 * r)
    ((plain + 40 * judged) / (3 + 11 + 9)).backward()
    expected = take_gradients(model)
    loss = kto_gradients(model, judgements, max_tokens=max_tokens)(batch)
    found = take_gradients(model)
    assert loss == pytest.approx(float(plain.detach()) / 23, rel=1e-5)
    assert float((found - expected).norm() / expected.norm()) < 1e-5


def test_parts_of_a_batch_add_up_to_it_by_their_share_of_response_tokens(model, samples, judgements):
    gradients = kto_gradients(model, judgements, max_tokens=10_000)
    whole = gradients(samples[:6]), take_gradients(model)
    shares = [(slice(0, 2), 8 / 48), (slice(2, 6), 40 / 48)]
    parts = [(share * gradients(samples[part]), share * take_gradients(model)) for part, share in shares]
    assert sum(loss for loss, _ in parts) == pytest.approx(whole[0], rel=1e-6)
    assert float((sum(flat for _, flat in parts) - whole[1]).norm() / whole[1].norm()) < 1e-5


def test_the_reference_is_the_base_whatever_the_adapter_says_and_the_adapter_stays_on(model, base, samples):
    trainable = [name for name, weight in model.named_parameters() if weight.requires_grad]
    before = answer_logprobs(model.get_base_model(), samples, max_tokens=100)
    with model.disable_adapter():
        reference = answer_logprobs(model.get_base_model(), samples, max_tokens=100)
    assert reference == answer_logprobs(base, samples, max_tokens=100)
    assert answer_logprobs(model.get_base_model(), samples, max_tokens=100) == before
    assert min(abs(before[sample] - reference[sample]) for sample in samples) > 0.01
    assert [name for name, weight in model.named_parameters() if weight.requires_grad] == trainable


def test_before_the_first_step_an_answer_stands_where_the_base_has_it_and_loses_half_its_weight(fresh, samples):
    import torch

    with fresh.disable_adapter():
        reference = answer_logprobs(fresh.get_base_model(), samples, max_tokens=100)
    now = answer_logprobs(fresh.get_base_model(), samples, max_tokens=100)
    assert now == reference
    for word, half in ((Word(wanted=True, weight=1.0), 0.5), (Word(wanted=False, weight=0.25), 0.125)):
        assert float(kto_loss(torch.tensor(now[samples[0]]), reference[samples[0]], word)) == half


def test_the_judgements_change_gradients_and_leave_the_reported_loss_alone(model, samples, judgements):
    plain = accumulate_gradients(model.get_base_model(), samples[:6], max_tokens=10_000), take_gradients(model)
    both = kto_gradients(model, judgements, max_tokens=10_000)(samples[:6]), take_gradients(model)
    assert both[0] == pytest.approx(plain[0], rel=1e-6)
    assert float((both[1] - plain[1]).norm() / plain[1].norm()) > 0.01


def test_a_stop_is_heard_before_every_pass_also_of_the_reference(model, samples, judgements):
    for passes in range(9):
        asked = iter([False] * passes + [True])
        gradients = kto_gradients(model, judgements, max_tokens=30, should_stop=lambda asked=asked: next(asked))
        with pytest.raises(Stopped):
            gradients(samples[:6])
        assert next(asked, "all asked") == "all asked"


def test_rejected_answers_become_less_likely_and_wanted_ones_do_not(fresh, samples, judgements):
    import torch

    optimizer = torch.optim.AdamW([weight for weight in fresh.parameters() if weight.requires_grad], lr=5e-3)
    gradients = kto_gradients(fresh, judgements, max_tokens=1000)
    before = answer_logprobs(fresh.get_base_model(), samples, max_tokens=1000)
    for _ in range(15):
        gradients(samples[:6])
        optimizer.step()
        optimizer.zero_grad()
    after = answer_logprobs(fresh.get_base_model(), samples, max_tokens=1000)
    gained = [after[sample] - before[sample] for sample in samples]
    assert min(gained[WANTED]) > 1
    assert max(gained[REJECTED]) < -1
