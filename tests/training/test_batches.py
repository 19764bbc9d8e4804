import random

import pytest

from cipher_nb.training.batches import Sample, attention_mask, lay_out, micro_batches, response_loss


def test_a_shared_prefix_stands_once_and_continuations_hang_on_it():
    tree = lay_out([Sample((1, 2, 3, 4), 3), Sample((1, 2, 5), 2)])
    assert tree.tokens == (1, 2, 3, 4, 5)
    assert tree.positions == (0, 1, 2, 3, 2)
    assert tree.parents == (-1, 0, 1, 2, 1)
    assert tree.sources == (2, 1)
    assert tree.targets == (4, 5)


def test_a_token_sees_itself_and_its_ancestors_and_nothing_else():
    mask = attention_mask(lay_out([Sample((1, 2, 3), 2), Sample((1, 4), 1)]))
    assert mask.int().tolist() == [[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0], [1, 0, 0, 1]]


def test_a_sample_that_begins_like_a_longer_one_keeps_its_own_end():
    tree = lay_out([Sample((1, 2, 3, 4), 1), Sample((1, 2), 1), Sample((1, 2), 1)])
    assert tree.tokens == (1, 2, 3, 4)
    assert sorted(zip(tree.sources, tree.targets, strict=True)) == [(0, 2), (0, 2), (0, 2), (1, 3), (2, 4)]


def test_micro_batches_hold_every_sample_once_and_respect_the_limit():
    rng = random.Random(3)
    samples = [Sample((1, 2, 3, *(rng.randrange(9) for _ in range(rng.randrange(1, 20)))), 3) for _ in range(40)]
    groups = list(micro_batches(samples, max_tokens=30))
    assert sorted(sample for group in groups for sample in group) == sorted(samples)
    assert max(len(lay_out(group).tokens) for group in groups) <= 30
    assert len(groups) > 1


def test_a_sample_over_the_limit_gets_a_tree_of_its_own():
    long = Sample(tuple(range(50)), 10)
    assert list(micro_batches([long, Sample((99, 1), 1)], max_tokens=20)) == [[long], [Sample((99, 1), 1)]]


def plain_gradients(model, samples):
    """The textbook computation: one sample at a time, transformers' own loss on labels."""
    import torch

    learned = sum(sample.response_tokens for sample in samples)
    loss = 0.0
    for sample in samples:
        ids = torch.tensor([sample.tokens])
        labels = ids.clone()
        labels[:, : sample.prompt_tokens] = -100
        part = model(input_ids=ids, labels=labels).loss * sample.response_tokens / learned
        part.backward()
        loss += float(part.detach())
    return loss, _take_gradients(model)


def tree_gradients(model, samples, *, max_tokens):
    learned = sum(sample.response_tokens for sample in samples)
    loss = 0.0
    for group in micro_batches(samples, max_tokens=max_tokens):
        part = response_loss(model.get_base_model(), lay_out(group)) / learned
        part.backward()
        loss += float(part.detach())
    return loss, _take_gradients(model)


def _take_gradients(model):
    import torch

    flat = torch.cat([weight.grad.flatten() for weight in model.parameters() if weight.grad is not None])
    model.zero_grad()
    return flat


def adapted(checkpoint):
    """A model whose adapter is not zero, so that gradients reach both of its sides."""
    import torch

    from cipher_nb.config import TrainingSettings
    from cipher_nb.training.qlora import load_base, with_adapter

    torch.manual_seed(0)
    model = with_adapter(load_base(checkpoint, quantised=False), TrainingSettings())
    for name, weight in model.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(weight, std=0.02)
    return model


@pytest.mark.parametrize("max_tokens", [10_000, 60])
def test_loss_and_gradients_are_those_of_one_sample_at_a_time(tiny_checkpoint, max_tokens):
    rng = random.Random(5)
    prefix = tuple(rng.randrange(259) for _ in range(30))
    samples = []
    for number in range(9):
        rest = tuple(rng.randrange(259) for _ in range(4 + 3 * number))
        samples.append(
            Sample((prefix if number % 3 else prefix[:11]) + rest, len(prefix[:11]) if not number % 3 else 32)
        )
    model = adapted(tiny_checkpoint)
    loss, expected = plain_gradients(model, samples)
    ours, found = tree_gradients(model, samples, max_tokens=max_tokens)
    assert ours == pytest.approx(loss, rel=1e-5)
    assert float((found - expected).norm() / expected.norm()) < 1e-5


@pytest.mark.slow
@pytest.mark.model
def test_gradients_on_the_embedded_model_are_those_of_one_sample_at_a_time(embedded_checkpoint, command_pairs):
    from cipher_nb.training.tokens import encode, load_tokenizer

    samples = encode(command_pairs[:4], load_tokenizer(embedded_checkpoint), max_tokens=1024).samples
    model = adapted(embedded_checkpoint)
    loss, expected = plain_gradients(model, samples)
    ours, found = tree_gradients(model, samples, max_tokens=512)
    assert ours == pytest.approx(loss, rel=1e-5)
    assert float((found - expected).norm() / expected.norm()) < 1e-5
