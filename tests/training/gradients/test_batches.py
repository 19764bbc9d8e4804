import random

from cipher_nb.training.gradients.batches import Sample, lay_out, micro_batches


def test_a_shared_prefix_stands_once_and_continuations_hang_on_it():
    tree = lay_out([Sample((1, 2, 3, 4), 3), Sample((1, 2, 5), 2)])
    assert tree.tokens == (1, 2, 3, 4, 5)
    assert tree.positions == (0, 1, 2, 3, 2)
    assert tree.ends == (5, 5, 4, 4, 5)
    assert tree.sources == (2, 1)
    assert tree.targets == (4, 5)


def test_samples_without_a_common_start_stand_side_by_side():
    tree = lay_out([Sample((7, 8), 1), Sample((1, 2), 1)])
    assert (tree.tokens, tree.positions, tree.ends) == ((1, 2, 7, 8), (0, 1, 0, 1), (2, 2, 4, 4))


def test_a_sample_that_begins_like_a_longer_one_keeps_its_own_end():
    tree = lay_out([Sample((1, 2, 3, 4), 1), Sample((1, 2), 1), Sample((1, 2), 1)])
    assert tree.tokens == (1, 2, 3, 4)
    assert tree.ends == (4, 4, 4, 4)
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
