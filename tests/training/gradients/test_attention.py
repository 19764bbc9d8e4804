import pytest

from cipher_nb.training.gradients.batches import Sample, lay_out


def branches(*samples):
    import torch

    from cipher_nb.training.gradients.attention import Branches

    return Branches(lay_out(samples), torch.device("cpu"))


def seen(tree, window=None):
    (block,) = tree.blocks(window)
    return block.keys.tolist(), tree.seen(block, window).int().tolist()


def test_a_token_sees_itself_and_its_ancestors_and_nothing_else():
    tree = branches(Sample((1, 2, 3), 2), Sample((1, 4), 1))
    assert seen(tree) == ([0, 1, 2, 3], [[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0], [1, 0, 0, 1]])


def test_a_window_is_measured_along_the_branch_not_across_the_tree():
    tree = branches(Sample((1, 2, 3), 2), Sample((1, 4), 1))
    assert seen(tree, window=2) == ([0, 1, 2, 3], [[1, 0, 0, 0], [1, 1, 0, 0], [0, 1, 1, 0], [1, 0, 0, 1]])


def test_a_block_reads_only_the_keys_that_one_of_its_nodes_sees():
    prefix = tuple(range(128))
    four = branches(*(Sample((*prefix, 1000 + branch, *range(127)), 128) for branch in range(4)))
    assert [len(block.keys) for block in four.blocks(None)] == [128, 256, 256, 256, 256]
    assert [len(block.keys) for block in four.blocks(20)] == [128, 147, 147, 147, 147]


@pytest.mark.parametrize("window", [None, 50])
def test_memory_of_a_long_sample_does_not_grow_with_its_square(window):
    tree = branches(Sample(tuple(range(8192)), 1))
    kept = sum(block.keys.nbytes for block in tree.blocks(window))
    assert kept < 3_000_000 < 8192**2 / 20
