import numpy as np
import pytest
from scipy import sparse

from ekss.graph import coassociation_dense
from ekss.report._fitted import read_inputs
from ekss.report._matrix import (
    agreement_by_graph,
    agreement_by_votes,
    blocks_of,
    mean_affinities,
    mean_votes,
)


class Fitted:
    """The least that an ensemble leaves behind."""

    def __init__(self, labels, **attributes):
        self.labels_ = labels
        self.__dict__.update(attributes)


@pytest.fixture
def votes(rng):
    return rng.integers(5, size=(60, 9)).astype(np.uint8)


@pytest.fixture
def codes(rng):
    return np.append(np.arange(4), rng.integers(4, size=56))


def slow_means(matrix, block_of):
    """Mean over the pairs of different points of every two blocks, by loops."""
    n_blocks = block_of.max() + 1
    means = np.ones((n_blocks, n_blocks))
    for i in range(n_blocks):
        for j in range(n_blocks):
            pairs = [
                matrix[a, b]
                for a in np.flatnonzero(block_of == i)
                for b in np.flatnonzero(block_of == j)
                if a != b
            ]
            if pairs:
                means[i, j] = np.mean(pairs)
    return means


def test_mean_votes_equal_means_of_the_full_matrix(votes, codes):
    codes[codes == 3] = 2
    codes[-1] = 3  # a block of one point
    slow = slow_means(coassociation_dense(votes), codes)
    np.testing.assert_allclose(mean_votes(votes, codes), slow, atol=1e-12)


def test_mean_affinities_equal_means_of_the_full_matrix(rng, codes):
    full = rng.random((60, 60)) * (rng.random((60, 60)) < 0.2)
    full = full + full.T
    slow = slow_means(full, codes)
    means = mean_affinities(sparse.csr_array(full), codes)
    np.testing.assert_allclose(means, slow, atol=1e-12)


def test_agreement_by_votes_equals_means_of_the_full_matrix(votes, codes):
    full = coassociation_dense(votes)
    expected = []
    for i in range(60):
        rest = np.arange(60) != i
        shares = [full[i, rest & (codes == k)].mean() for k in range(4)]
        own = shares.pop(codes[i])
        expected.append(max(0, 1 - max(shares) / own) if own else 0)
    values = agreement_by_votes(votes, codes, np.arange(60))
    np.testing.assert_allclose(values, expected, atol=1e-12)
    some = np.array([3, 17, 40])
    np.testing.assert_allclose(agreement_by_votes(votes, codes, some), values[some])


def test_agreement_is_one_where_members_and_clusters_are_the_same():
    codes = np.repeat([0, 1, 2], 5)
    values = agreement_by_votes(np.tile(codes[:, None], (1, 7)), codes, np.arange(15))
    np.testing.assert_array_equal(values, np.ones(15))


def test_agreement_by_graph_is_the_share_of_weight_that_stays():
    graph = np.array([[9.0, 3, 1, 0], [3, 0, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0]])
    values = agreement_by_graph(sparse.csr_array(graph), np.array([0, 0, 1, 1]))
    np.testing.assert_allclose(values, [0.75, 1, 0, 0])


def test_blocks_keep_clusters_apart_and_show_the_parts_of_one(rng):
    # members agree on two parts inside cluster 0, which come in mixed order
    part = rng.permutation(np.repeat([0, 1, 2], [400, 400, 200]))
    noise = rng.integers(8, size=(1000, 30))
    votes = np.where(rng.random((1000, 30)) < 0.8, part[:, None], noise)
    model = Fitted(np.where(part == 2, 1, 0), member_labels_=votes.astype(np.uint8))
    X = rng.standard_normal((1000, 3))
    blocks = blocks_of(read_inputs(model, X))
    assert blocks.means.shape == (240, 240)
    assert blocks.points_per_block in (5, 6)
    assert list(np.bincount(blocks.clusters)) == [192, 48]
    first = blocks.means[:192, :192]
    halves = first[:96, :96].mean(), first[96:, 96:].mean()
    assert min(halves) > 3 * first[:96, 96:].mean()
    assert blocks.between.shape == (2, 2)
