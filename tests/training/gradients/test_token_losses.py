import pytest

VOCABULARY = 1 << 18
"""So large that 32 positions are a chunk."""


@pytest.fixture
def scored():
    """Hidden states of 70 positions, their targets, and an output layer that caps its logits."""
    import torch

    torch.manual_seed(1)
    hidden = torch.randn(70, 8, dtype=torch.float64, requires_grad=True)
    weight = torch.randn(VOCABULARY, 8, dtype=torch.float64)
    return hidden, torch.randint(VOCABULARY, (70,)), lambda states: 5 * torch.tanh(states @ weight.T / 5)


@pytest.mark.slow
def test_losses_and_gradients_in_chunks_are_those_of_all_logits_at_once(scored):
    import torch

    from cipher_nb.training.gradients.token_losses import token_losses

    hidden, targets, head = scored
    weights = torch.linspace(-1, 1, 70, dtype=torch.float64)
    expected = torch.nn.functional.cross_entropy(head(hidden), targets, reduction="none")
    (slope,) = torch.autograd.grad((expected * weights).sum(), hidden)
    found = token_losses(hidden, targets, head=head, vocabulary=VOCABULARY)
    (ours,) = torch.autograd.grad((found * weights).sum(), hidden)
    assert torch.allclose(found, expected, rtol=1e-9)
    assert float((ours - slope).norm() / slope.norm()) < 1e-9


def test_no_more_than_a_chunk_of_logits_is_ever_made(scored):
    from cipher_nb.training.gradients.token_losses import token_losses

    hidden, targets, head = scored
    made = []

    def watched(states):
        made.append(len(states))
        return head(states)

    assert token_losses(hidden, targets, head=watched, vocabulary=VOCABULARY).shape == (70,)
    assert made == [32, 32, 6]


def test_without_gradients_none_are_computed(scored):
    import torch

    from cipher_nb.training.gradients.token_losses import token_losses

    hidden, targets, head = scored
    with torch.no_grad():
        losses = token_losses(hidden, targets, head=head, vocabulary=VOCABULARY)
    assert not losses.requires_grad
